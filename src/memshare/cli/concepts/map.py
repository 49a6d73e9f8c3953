"""`memshare concepts map`: the pool as a picture that can be searched, in one file."""

from __future__ import annotations

import time
import webbrowser
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer

from memshare.cli.concepts.open_concepts import OpenedConcepts, Size, opened
from memshare.cli.options import Json, Pool
from memshare.files.new_file import new_file
from memshare.terminal.console import console, errors, print_json
from memshare.terminal.ids import counted
from memshare_broker.errors import BadInput, MemshareError


def draw_map(
    out: Annotated[Path, typer.Option(metavar="FILE.html", help="The page to write; an existing file is replaced.")],
    pool: Pool = None,
    size: Size = None,
    person: Annotated[str | None, typer.Option(help="Colour by what this person remembers, by their reviews.")] = None,
    show: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    as_json: Json = False,
) -> None:
    """Draw the clusters of a pool and their memories on one HTML page, which can be searched and read offline.

    On the page, clusters can be made smaller and larger, and memories compared with each other. It has prompts
    and answers: whoever has it can read them. It shows the pool as it is now.

    Example: memshare concepts map --pool physics --out physics.html --open
    """
    with opened("map", pool, vectors=True) as found:
        from memshare_concepts.clusters import SIZE
        from memshare_concepts.map.page import Colours, clusters_around, map_page

        remembered = {} if person is None else _remembered(found, person)
        size = SIZE if size is None else size
        with errors.status("Finding clusters…"):
            by_size = clusters_around(found.concepts, found.client.settings.data, size)
        with errors.status("Drawing…"):
            judged = found.client.memories.judge(found.concepts.ids)
            colours = Colours({one.memory.id: one.credibility.p for one in judged}, remembered, person)
            with new_file(out) as file:
                file.writelines(map_page(found.concepts, by_size, size, colours, datetime.now(UTC)))
    count, groups = len(found.concepts.memories), len(by_size[size].levels()[-1])
    if as_json:
        print_json({"file": str(out), "memories": count, "clusters": groups, "sizes": list(by_size)})
    else:
        console.print(f"Drew {counted(count)} in {groups:,} clusters: {out}")
    if show and not webbrowser.open(out.resolve().as_uri()):
        raise MemshareError(f"No browser was found to open {str(out)!r} with.")


def _remembered(found: OpenedConcepts, person: str) -> dict[UUID, float]:
    """The probability that a person remembers each memory that they reviewed."""
    from memshare_concepts.reviews import CardStore, ReviewLearner

    concepts = found.concepts
    learner = ReviewLearner(CardStore(found.redis, person), concepts.pool, concepts.memories, concepts.graph, {})
    standings = learner.standings(time.time())
    if not standings:
        raise BadInput(f"{person!r} has reviewed nothing of pool {concepts.pool!r}: `memshare review` begins it.")
    return {memory: standing.probability for memory, standing in standings.items()}
