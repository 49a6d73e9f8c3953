"""`memshare concepts merge`, `split` and `similar`: names that mean one concept."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from memshare.cli.concepts.open_concepts import concept_named, opened
from memshare.cli.operating import note
from memshare.cli.options import By, Json, Pool, Rows, login_name
from memshare.terminal.console import console, errors, print_json, short, table
from memshare.terminal.ids import counted
from memshare_broker.errors import BadInput
from memshare_concepts.decisions import Decisions, Merge

if TYPE_CHECKING:
    from memshare_concepts.nearly_same import SimilarNames

BY = "similarity"
"""Who merged, where nobody was asked."""


def similar(
    merge: Annotated[bool, typer.Option("--merge", help="Merge those of a cosine of .95 or more.")] = False,
    apart: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="A B", help="These two are different concepts: do not propose them again."),
    ] = None,
    by: By = None,
    pool: Pool = None,
    limit: Rows = 50,
    as_json: Json = False,
) -> None:
    """List concepts whose names mean nearly the same, by the encoder: a cosine of .85 or more.

    Names with digits or single letters are never among them: GPT-3 is not GPT-4.

    Example: memshare concepts similar --pool physics --merge
    """
    with opened("similar", pool) as found:
        from memshare_concepts.nearly_same import proposed_names
        from memshare_concepts.pool_graph import encode

        decisions = Decisions(found.redis, found.concepts.pool)
        if apart is not None:
            one, other = (concept_named(found.concepts.graph, typed, found.concepts.pool) for typed in apart)
            decisions.keep_apart(one, other, datetime.now(UTC), login_name() if by is None else by)
            note("decide on concepts", pool=found.concepts.pool, apart=f"{one}, {other}")
            print_json({"apart": [one, other]}) if as_json else console.print(f"{one} and {other} are two concepts.")
            return
        with errors.status("Comparing what names mean…"):
            pairs = proposed_names(found.concepts.graph, partial(encode, found.client.memories), decisions)
        merged = _merge(decisions, [pair for pair in pairs if pair.certain]) if merge else []
        if merged:
            note("decide on concepts", pool=found.concepts.pool, merged=len(merged))
    left = [pair for pair in pairs if pair not in merged]
    if as_json:
        print_json({"merged": [pair._asdict() for pair in merged], "proposed": [pair._asdict() for pair in left]})
        return
    if merged:
        rows = [(f"{pair.similarity:.3f}", short(pair.other, 40), short(pair.keep, 40)) for pair in merged]
        console.print(table("cosine", "merged", "into", rows=rows))
    if not left:
        console.print("No similar names are left." if merged else "No two names are similar.")
        return
    rows = [(f"{pair.similarity:.3f}", short(pair.other, 40), short(pair.keep, 40)) for pair in left[:limit]]
    console.print(table("cosine", "may mean", "the same as", rows=rows))
    hint = "`memshare concepts merge A B` merges two, --apart A B keeps them apart"
    console.print(hint + ("." if merge else ", --merge merges all from .95."), style="dim")
    if len(left) > limit:
        errors.print(f"{len(left) - limit:,} more: --limit.", style="dim")


def _merge(decisions: Decisions, pairs: list[SimilarNames]) -> list[SimilarNames]:
    """Merge pairs, the most similar first; returns those that were not one concept already by the merges before."""

    merged = []
    aliases = decisions.aliases()
    for pair in pairs:
        record = Merge(of=pair.other, into=pair.keep, at=datetime.now(UTC), by=BY, similarity=pair.similarity)
        if aliases.key(pair.other) == aliases.key(pair.keep) or aliases.is_merged(pair.other):
            continue
        decisions.merge(record)
        aliases.add(record)
        merged.append(pair)
    return merged


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
        note("decide on concepts", pool=found.concepts.pool, merge=f"{of}, {target}")
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
        note("decide on concepts", pool=found.concepts.pool, split=undone.of)
    if as_json:
        print_json({"split": undone.of, "from": undone.into})
    else:
        console.print(f"{undone.of} and {undone.into} are two concepts again.")
