"""The pool: search as you type, conditions, a file of what was found, and the trash."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from pydantic import JsonValue

from memshare.client.pools import unread
from memshare.client.rest.calls.memories import CountsReply
from memshare.doors.pages.visit import PAGES, Screen, Streamed, Visit
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller
from memshare.operations.forms import CountForm, PageForm, SearchForm
from memshare.operations.jobs import MOST_PURGED
from memshare.operations.journeys import own_journey
from memshare.operations.listings import pools
from memshare.operations.memories import trash
from memshare.operations.search import COUNTED_BY, count, page, search
from memshare_broker.errors import BadInput
from memshare_broker.wire.forms import checked
from memshare_memory.door.messages import Conditions
from memshare_memory.memory import Memory
from memshare_memory.stores.store import MOST_ORDERED

HERE = "/pool"
SHOWN = 50
CONDITIONS = ("status", *(name for name in Conditions.model_fields if name != "words"))
ORDERS = {
    "created": "newest first",
    "-created": "oldest first",
    "score": "best score first",
    "-score": "lowest score first, of those that were graded",
    "credibility": "most credible first",
    "-credibility": "least credible first",
}
"""Order → what it is called; after a minus the lowest come first."""
MOST_FOUND = 100  # memories of a search
PAGE = 500  # memories read at once


class Row(NamedTuple):
    """A memory of the list, and how near it is to what was searched."""

    memory: Memory
    similarity: float | None
    near: bool = True


@PAGES.screen(HERE)
def pool(visit: Visit) -> Screen:
    """The memories nearest to what was typed, or the first ones in an order."""
    backend, caller = visit.backend, visit.caller
    there = pools(backend, caller)
    named = visit.field("pool")
    if not named and caller.pools is not None and there:
        named = there[0].name  # who sees some pools alone looks into one at a time
    conditions: dict[str, JsonValue] = dict(visit.given(*CONDITIONS))
    order = visit.field("order") if visit.field("order") in ORDERS else "created"
    text, number = visit.field("q"), _number(visit)
    rows: Sequence[Row] = ()
    counts = None
    if there or named:
        graded: dict[str, JsonValue] = {"score_from": "0"} if order == "-score" and not text else {}
        asked = {**graded, **conditions, "pool": named or None}
        rows = _rows(backend, caller, asked, text, order, (number - 1) * SHOWN)
        counts = None if text else count(backend, caller, checked(CountForm, "The list", **asked))
    query = {**conditions, "pool": named, "q": text}
    turns = {"back": number - 1} if number > 1 else {}
    if len(rows) > SHOWN:
        turns["on"] = number + 1
    return Screen(
        "pool",
        {
            "pools": there,
            "named": named,
            "unread": unread(
                filter(caller.uses, backend.cards().values()),
                [one.name for one in there if one.name == named and one.memories and not one.agents],
            ),
            "back": visit.back,
            "missing": visit.field("missing"),
            "about": own_journey(backend, caller, visit.field("about")) if visit.field("about") else None,
            "text": text,
            "given": {name: str(value) for name, value in conditions.items()},
            "order": order,
            "orders": ORDERS,
            "rows": rows[:SHOWN],
            "judged": {
                one.memory.id: one for one in backend.client.memories.judge([row.memory.id for row in rows[:SHOWN]])
            },
            "shown": SHOWN,
            "takes": backend.client.nearness(named or None),
            "first": (number - 1) * SHOWN + 1,
            "total": counts.total if counts else 0,
            "known": _known(rows, counts),
            "pages": {name: urlencode({**query, "order": order, "page": to}) for name, to in turns.items()},
            "query": urlencode(query),
        },
    )


@PAGES.screen("/pool/export")
def export(visit: Visit) -> Streamed:
    """The list as a file that an import takes: all that fits the conditions, or the memories that a search found."""
    found = _exported(visit.backend, visit.caller, visit.given("pool", *CONDITIONS), visit.field("q"))
    return Streamed((f"{memory.model_dump_json()}\n" for memory in found), "application/jsonl", "memories.jsonl")


@PAGES.screen("/trash")
def forgotten(visit: Visit) -> Screen:
    """The memories that were forgotten in the last 30 days; those that are ticked, before they are removed for good."""
    there, ids = trash(visit.backend, visit.caller, limit=MOST_PURGED), visit.ids("id")
    chosen = [one.memory for one in there.memories if one.memory.id in ids]
    return Screen("trash", {"trash": there, "chosen": chosen, "jobs": visit.jobs})


def _exported(backend: Backend, caller: Caller, conditions: Mapping[str, JsonValue], text: str) -> Iterator[Memory]:
    if text:
        yield from (one.memory for one in _rows(backend, caller, conditions, text, "", 0)[:SHOWN])
        return
    cursor = None
    while True:
        form = checked(PageForm, "The list", **conditions, limit=PAGE, cursor=cursor)
        found = page(backend, caller, form)
        yield from found.memories
        cursor = found.next
        if cursor is None:
            return


def _rows(
    backend: Backend, caller: Caller, conditions: Mapping[str, JsonValue], text: str, order: str, skip: int
) -> Sequence[Row]:
    """The rows of a page, and one more where another page follows."""
    if text:
        k = min(skip + SHOWN + 1, MOST_FOUND)
        form = checked(SearchForm, "The search", **conditions, text=text, k=k, mode="hybrid")
        return [Row(one.memory, one.similarity, one.near) for one in search(backend, caller, form).memories][skip:]
    by = {"order": order.removeprefix("-"), "ascending": order.startswith("-"), "skip": skip}
    listed = checked(PageForm, "The list", **conditions, **by, limit=SHOWN + 1)
    return [Row(one, None) for one in page(backend, caller, listed).memories]


def _number(visit: Visit) -> int:
    """Which page of the list is meant."""
    number = visit.field("page") or "1"
    if not number.isascii() or not number.isdecimal() or not 0 < int(number[:6]) <= MOST_ORDERED // SHOWN:
        raise BadInput(f"There is no page {number!r} of the list: give a number from 1.")
    return int(number)


def _known(rows: Sequence[Row], counts: CountsReply | None) -> dict[str, dict[str, int | None]]:
    """The values of each field: with how many memories have them, or of a search those that were found."""
    if counts is not None:
        return {name: dict(sorted(getattr(counts, name).items())) for name in COUNTED_BY}
    return {
        name: dict.fromkeys(sorted({str(found) for one in rows if (found := getattr(one.memory, name))}))
        for name in COUNTED_BY
    }
