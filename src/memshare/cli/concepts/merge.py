"""`memshare concepts merge`, `split` and `similar`: names that mean one concept."""

from __future__ import annotations

from datetime import UTC, datetime
from shlex import quote
from typing import Annotated

import typer

from memshare.cli.concepts.open_concepts import concept_named, opened
from memshare.cli.options import By, Json, Pool, login_name
from memshare.terminal.console import console, print_json
from memshare.terminal.memory_pages import counted
from memshare_broker.errors import BadInput
from memshare_concepts.aliases import Merge
from memshare_concepts.decisions import Decisions


def merge(
    name: Annotated[str, typer.Argument(metavar="A", help="The name to merge.")],
    into: Annotated[str, typer.Argument(metavar="B", help="The concept that it means.")],
    by: By = None,
    pool: Pool = None,
    as_json: Json = False,
) -> None:
    """Merge concept A into B: memories with A count as having B. `split A` undoes it.

    Example: memshare concepts merge "Neural Net" "Neural Network" --pool physics
    """
    with opened("merge", pool) as found:
        graph, aliases = found.concepts.graph, found.concepts.aliases
        if aliases.is_merged(name):
            raise BadInput(
                f"{name!r} counts as {concept_named(graph, name, found.concepts.pool)!r} already:"
                " `memshare concepts split` takes that back."
            )
        of, target = (concept_named(graph, typed, found.concepts.pool) for typed in (name, into))
        together = len({*graph.memories(of), *graph.memories(target)})
        record = Merge(of=of, into=target, at=datetime.now(UTC), by=login_name() if by is None else by)
        try:
            Decisions(found.redis, found.concepts.pool).merge(record)
        except ValueError as error:
            raise BadInput(str(error)) from error
    if as_json:
        print_json({"merged": of, "into": target, "count": together})
    else:
        console.print(
            f"{of} means {target} now, which {counted(together)} have. `memshare concepts split {quote(of)}` undoes it."
        )


def split(
    name: Annotated[str, typer.Argument(metavar="A", help="The name that was merged.")],
    by: By = None,
    pool: Pool = None,
    as_json: Json = False,
) -> None:
    """Undo a merge: A is a concept of its own again, and `similar` does not propose the two again.

    Example: memshare concepts split "Neural Net" --pool physics
    """
    with opened("split", pool) as found:
        decisions = Decisions(found.redis, found.concepts.pool)
        try:
            undone = decisions.split(name)
        except ValueError as error:
            merged = ", ".join(merge.of for merge in found.concepts.aliases.merges())
            raise BadInput(f"{error} Merged are: {merged or 'none'}.") from error
        decisions.keep_apart(undone.of, undone.into, datetime.now(UTC), login_name() if by is None else by)
    if as_json:
        print_json({"split": undone.of, "from": undone.into})
    else:
        console.print(f"{undone.of} and {undone.into} are two concepts again.")
