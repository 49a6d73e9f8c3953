"""`memshare concepts map`: the pool as a picture that can be searched, in one file."""

from __future__ import annotations

import webbrowser
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from memshare.broker.errors import MemshareError
from memshare.commands.concepts.opening import Pool, Size, opened
from memshare.commands.options import Json
from memshare.console import console, errors, print_json
from memshare.exports import note_export
from memshare.files import new_file
from memshare.memory_pages import counted


def draw_map(
    out: Annotated[Path, typer.Option(metavar="FILE.html", help="The page to write; one that is there is replaced.")],
    pool: Pool = None,
    size: Size = None,
    show: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    as_json: Json = False,
) -> None:
    """Draw the clusters of a pool and their memories on one HTML page, which can be searched and read offline.

    The page has prompts and answers: whoever has it can read them. It shows the pool as it is now.

    Example: memshare concepts map --pool physics --out physics.html --open
    """
    with opened("map", pool, vectors=True) as found:
        from memshare.concepts.map_page import map_page

        clusters = found.clusters(size)
        with errors.status("Drawing…"):
            judged = found.client.memories.judge(found.concepts.ids)
            credibilities = {one.memory.id: one.credibility.p for one in judged}
            with new_file(out) as file:
                file.writelines(map_page(found.concepts, clusters, credibilities, datetime.now(UTC)))
        note_export(found.redis, out)  # so that what is purged can be taken out of it
    count, groups = len(found.concepts.memories), len(clusters.levels()[-1])
    if as_json:
        print_json({"file": str(out), "memories": count, "clusters": groups})
    else:
        console.print(f"Drew {counted(count)} in {groups:,} clusters: {out}", soft_wrap=True)
    if show and not webbrowser.open(out.resolve().as_uri()):
        raise MemshareError(f"No browser was found to open {str(out)!r} with.")
