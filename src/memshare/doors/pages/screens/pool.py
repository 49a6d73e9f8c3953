"""The pool: search as you type, conditions, a file of what was found, and the trash."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from pydantic import JsonValue

from memshare.doors.backend import Backend
from memshare.doors.caller import Caller
from memshare.doors.calls.listings import pools
from memshare.doors.calls.search import page, search
from memshare.doors.calls.trash import trash
from memshare.doors.forms import PageForm, SearchForm
from memshare.doors.pages.visit import PAGES, Screen, Streamed, Visit
from memshare.files.merge_lines import Names, add_names, merge_lines
from memshare_broker.wire.checking import checked
from memshare_memory.memory import Memory

HERE = "/pool"
SHOWN = 50
CONDITIONS = (
    "kind",
    "agent",
    "submitter",
    "model",
    "status",
    "since",
    "until",
    "score_from",
    "score_to",
    "credibility_from",
)
ORDERS = {"created": "newest first", "score": "best score first", "credibility": "most credible first"}
PAGE = 500  # memories read at once


@dataclass(frozen=True)
class Row:
    """A memory of the list, and how near it is to what was searched."""

    memory: Memory
    similarity: float | None


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
    text = visit.field("q")
    rows: Sequence[Row] = ()
    if there or named:
        rows = _rows(backend, caller, {**conditions, "pool": named or None}, text, order)
    return Screen(
        "pool",
        {
            "pools": there,
            "named": named,
            "sees_all": caller.pools is None,
            "text": text,
            "given": {name: str(value) for name, value in conditions.items()},
            "order": order,
            "orders": ORDERS,
            "rows": rows,
            "shown": SHOWN,
            "total": sum(one.memories for one in there if named in ("", one.name)),
            "known": {name: sorted({str(found) for one in rows if (found := getattr(one.memory, name))}) for name in
                      ("kind", "agent", "submitter", "model")},
            "may_curate": caller.may("curate"),
            "may_import": caller.may("admin") and caller.pools is None,
            "query": urlencode({**conditions, "pool": named, "q": text}),
        },
    )  # fmt: skip


@PAGES.screen("/pool/export")
def export(visit: Visit) -> Streamed:
    """What the list shows as a file that an import takes: all that fits the conditions, or what a search found."""
    conditions = visit.given("pool", *CONDITIONS)
    return Streamed(_lines(visit, conditions, visit.field("q")), "application/jsonl", "memories.jsonl")


@PAGES.screen("/trash")
def forgotten(visit: Visit) -> Screen:
    """What was forgotten in the last 30 days."""
    return Screen("trash", {"trash": trash(visit.backend, visit.caller, limit=200)})


def _lines(visit: Visit, conditions: Mapping[str, JsonValue], text: str) -> Iterator[str]:
    names: Names = {}
    for memory in _exported(visit.backend, visit.caller, conditions, text):
        add_names(names, memory)
        yield memory.model_dump_json() + "\n"
    with visit.backend.reaching():
        merges = merge_lines(visit.backend.redis, names)
    yield from (one.model_dump_json() + "\n" for one in merges)


def _exported(backend: Backend, caller: Caller, conditions: Mapping[str, JsonValue], text: str) -> Iterator[Memory]:
    if text:
        yield from (one.memory for one in _rows(backend, caller, conditions, text, ""))
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
    backend: Backend, caller: Caller, conditions: Mapping[str, JsonValue], text: str, order: str
) -> Sequence[Row]:
    if text:
        form = checked(SearchForm, "The search", **conditions, text=text, k=SHOWN, mode="hybrid")
        return [Row(one.memory, one.similarity) for one in search(backend, caller, form).memories]
    listed = checked(PageForm, "The list", **conditions, order=order, limit=SHOWN)
    return [Row(one, None) for one in page(backend, caller, listed).memories]
