"""`memshare memories search` and `list`: memories by their text and by exact conditions."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any, Literal

import typer
from rich.text import Text

from memshare.cli.condition_options import takes_conditions
from memshare.cli.options import Json, OnlyPool, Pool
from memshare.client.client import Client
from memshare.terminal.console import console, errors, print_json, short, table
from memshare.terminal.ids import short_id
from memshare.terminal.memory_pages import as_json as json_of
from memshare.terminal.memory_pages import (
    credibility_of,
    prompt_and_answer,
    require_pool,
    say_unreadable,
    text_columns,
    the_pool,
)
from memshare_broker.errors import BadInput
from memshare_broker.wire.checking import checked
from memshare_memory.door.conditions import Conditions
from memshare_memory.door.messages import LONGEST_PAGE, RecallRequest
from memshare_memory.memory import Memory, Status
from memshare_memory.stores.store import Order, SortKey, Where

Sort = Literal["id", "time", "score", "credibility"]
_KEYS: dict[Sort, SortKey] = {"time": "created", "score": "score", "credibility": "credibility"}
_COLUMNS = ("id", "score", "kind")

OfStatus = Annotated[Status | None, typer.Option(help="Only of this status.")]


@takes_conditions
def search(
    text: Annotated[str, typer.Argument(help="A task, or any text.")],
    pool: Pool = None,
    limit: Annotated[int, typer.Option("--limit", "-k", min=1, max=20, help="Maximum number of memories.")] = 3,
    hybrid: Annotated[bool, typer.Option("--hybrid", help="By words as well as by meaning.")] = False,
    *,
    conditions: Conditions,
    as_json: Json = False,
) -> None:
    """Find the memories that an agent would be shown with this task.

    Example: memshare memories search "a poem about the sea" --pool poem --limit 5 --score-from 90
    """
    client = Client()
    pool = the_pool(client, pool)
    if not text.strip():
        raise BadInput("The text to search for is empty.")
    wanted = checked(
        RecallRequest,
        "The search",
        pool=pool,
        text=text,
        k=limit,
        mode="hybrid" if hybrid else "dense",
        among=conditions.where(),
        new_pool=True,
    )
    found = client.memories.recall(wanted).found
    say_unreadable(client)
    if as_json:
        print_json([one.model_dump(mode="json") for one in found])
        return
    rows = [(f"{one.similarity:.3f}", *row(one.memory)) for one in found]
    console.print(table("similarity", *_COLUMNS, *text_columns(), rows=rows) if rows else f"Pool {pool!r} has none.")
    if [one.similarity for one in found] != sorted((one.similarity for one in found), reverse=True):
        console.print("In the order in which agents are shown them: as learnt, not by similarity.", style="dim")


@takes_conditions
def list_memories(
    pool: OnlyPool = None,
    *,
    conditions: Conditions,
    status: OfStatus = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of memories.")] = 50,
    sort: Annotated[Sort, typer.Option(help="What to sort by, the newest or highest first.")] = "time",
    ascending: Annotated[bool, typer.Option("--ascending", help="With --sort: the lowest first.")] = False,
    as_json: Json = False,
) -> None:
    """List memories.

    Example: memshare memories list --pool poem --kind limerick --sort credibility

    Example: memshare memories list --status stale --since 2026-05-01
    """
    client = Client()
    require_pool(client, pool)
    where = conditions.where(pool=pool, status=status)
    found = _by_id(client, where, limit) if sort == "id" else _sorted(client, where, sort, limit, ascending=ascending)
    say_unreadable(client)
    more = [because] if status == "stale" else []
    columns = [*_COLUMNS, *text_columns(), *("because" for _ in more)]
    rows = [(*row(memory), *(tell(memory) for tell in more)) for memory in found]
    shown: list[dict[str, Any]] = [memory.model_dump(mode="json") for memory in found]
    if sort == "credibility":
        by_id = {one.memory.id: one for one in client.memories.judge([memory.id for memory in found])}
        judged = [by_id[memory.id] for memory in found if memory.id in by_id]
        columns, shown = ["credibility", *columns], [json_of(one) for one in judged]
        rows = [(credibility_of(one), *row(one.memory), *(tell(one.memory) for tell in more)) for one in judged]
    if as_json:
        print_json(shown)
        return
    console.print(table(*columns, rows=rows) if rows else "No memories.")


def _by_id(client: Client, where: Where, limit: int) -> list[Memory]:
    return _limited(list(islice(client.memories.every(where), limit + 1)), limit)


def _limited(found: list[Memory], limit: int) -> list[Memory]:
    if len(found) > limit:
        errors.print(f"There are more than {limit}; --limit shows more.", style="dim")
    return found[:limit]


def _sorted(client: Client, where: Where, sort: Sort, limit: int, *, ascending: bool) -> list[Memory]:
    if limit > LONGEST_PAGE:
        raise BadInput(f"At most {LONGEST_PAGE:,} memories can be sorted: --limit {LONGEST_PAGE}, or --sort id.")
    found = list(client.memories.first(where, Order(_KEYS[sort], ascending), min(limit + 1, LONGEST_PAGE)))
    return _limited(found, limit)


def row(memory: Memory) -> tuple[str | Text, ...]:
    """A memory in a table of many."""
    return (
        short_id(memory.id),
        score_of(memory),
        short(memory.kind or "–", 12),
        *prompt_and_answer(memory),
    )


def because(memory: Memory) -> str:
    """Why a memory is stale, as people see it."""
    return ", ".join(f"{short_id(one.memory)} was {one.became}" for one in memory.because) or "not known"


def score_of(memory: Memory) -> str:
    """The score of a memory as people see it."""
    return "–" if memory.score is None else f"{memory.score:.1f}"
