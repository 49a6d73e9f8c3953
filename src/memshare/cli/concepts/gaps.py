"""`memshare concepts gaps`: what a pool is likely to lack, and what a person says is no gap."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from memshare.cli.concepts.open_concepts import OpenedConcepts, Size, opened
from memshare.cli.operating import note
from memshare.cli.options import By, Json, Pool, login_name
from memshare.terminal.console import console, errors, print_json, table
from memshare_broker.errors import BadInput
from memshare_concepts.decisions import Decisions
from memshare_concepts.open_questions import Gap


def gaps(
    dismiss: Annotated[str | None, typer.Option(metavar="ID", help="Do not list this gap again.")] = None,
    bring_back: Annotated[str | None, typer.Option(metavar="ID", help="List it again.")] = None,
    dismissed: Annotated[bool, typer.Option("--dismissed", help="List those that were dismissed.")] = False,
    by: By = None,
    pool: Pool = None,
    size: Size = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of gaps.")] = 20,
    as_json: Json = False,
) -> None:
    """List what a pool is likely to lack, the likeliest of each kind first, each with the reason.

    A concept that memories name and none is about; two close clusters that nothing connects; a cluster of few memories.

    Example: memshare concepts gaps --pool physics

    Example: memshare concepts gaps --pool physics --dismiss "unexplained:harvard university"
    """
    if sum((dismiss is not None, bring_back is not None, dismissed)) > 1:
        raise BadInput("Give one of --dismiss, --bring-back and --dismissed.")
    with opened("gaps", pool, vectors=True) as found:
        decisions = Decisions(found.redis, found.concepts.pool)
        if dismissed:
            _list_dismissed(decisions, as_json=as_json)
        elif bring_back is not None:
            if not decisions.bring_back(bring_back):
                raise BadInput(f"No gap {bring_back!r} was dismissed. `memshare concepts gaps --dismissed` lists them.")
            print_json({"brought_back": bring_back}) if as_json else console.print(f"{bring_back} is listed again.")
        elif dismiss is not None:
            _dismiss(found, decisions, dismiss, login_name() if by is None else by, size, as_json=as_json)
        else:
            _list(gaps_of(found, decisions, size), limit, as_json=as_json)


def gaps_of(found: OpenedConcepts, decisions: Decisions, size: int | None) -> list[Gap]:
    """The gaps of a pool that was opened with its vectors; questions that somebody asked in vain come first."""
    from memshare_concepts.gaps import gaps_now

    clusters = found.clusters(size)
    with errors.status("Comparing what concepts mean…"):
        return gaps_now(found.concepts, clusters, found.client.memories, found.redis, decisions)


def _dismiss(
    found: OpenedConcepts, decisions: Decisions, gap_id: str, by: str, size: int | None, *, as_json: bool
) -> None:
    by_id = {gap.id: gap for gap in gaps_of(found, decisions, size)}
    if gap_id not in by_id:
        raise BadInput(
            f"Pool {found.concepts.pool!r} has no gap {gap_id!r}, or it was dismissed already."
            " `memshare concepts gaps` lists them with their ids."
        )
    decisions.dismiss(gap_id, by_id[gap_id].names, datetime.now(UTC), by)
    note("decide on concepts", pool=found.concepts.pool, dismiss=gap_id)
    if as_json:
        print_json({"dismissed": gap_id})
    else:
        console.print(f"Dismissed: {gap_id}. `memshare concepts gaps --bring-back` lists it again.")


def _list(gaps: list[Gap], limit: int, *, as_json: bool) -> None:
    if as_json:
        print_json([_as_json(gap) for gap in gaps[:limit]])
        return
    rows = [(gap.kind, gap.reason, gap.id) for gap in gaps[:limit]]
    if not rows:
        console.print("No gaps.")
        return
    console.print(table("kind", "why", "id", rows=rows))
    if len(gaps) > limit:
        errors.print(f"{len(gaps) - limit:,} more: --limit.", style="dim")


def _list_dismissed(decisions: Decisions, *, as_json: bool) -> None:
    found = decisions.dismissed()
    if as_json:
        print_json({one: record.model_dump(mode="json") for one, record in found.items()})
        return
    rows = [(one, record.by, f"{record.at:%Y-%m-%d}") for one, record in sorted(found.items())]
    console.print(table("id", "by", "on", rows=rows) if rows else "No gap was dismissed.")


def _as_json(gap: Gap) -> dict[str, Any]:
    return {"id": gap.id, **vars(gap)}
