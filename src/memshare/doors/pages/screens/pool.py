"""The pool: search as you type, conditions, and what is done with several memories at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from pydantic import JsonValue

from memshare.doors.backend import Backend
from memshare.doors.caller import Caller
from memshare.doors.calls.listings import pools
from memshare.doors.calls.memories import add, edit, forget, get
from memshare.doors.calls.search import page, search
from memshare.doors.calls.trash import trash
from memshare.doors.forms import EditForm, MemoryForm, PageForm, SearchForm
from memshare.doors.pages.visit import PAGES, Done, Screen, Visit
from memshare_broker.errors import BadInput
from memshare_broker.wire.checking import checked
from memshare_memory.memory import Memory, Status

HERE = "/pool"
SHOWN = 50
CONDITIONS = ("kind", "agent", "submitter", "model", "status", "since", "until", "score_from", "score_to")
ORDERS = {"created": "newest first", "score": "best score first", "credibility": "most credible first"}
MOST_AT_ONCE = 200


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
        },
    )  # fmt: skip


@PAGES.action("/pool/several")
def do_to_several(visit: Visit) -> Done:
    """Hide, show again or forget the memories that were chosen."""
    chosen = visit.ids("id")
    back = f"{HERE}?{urlencode(visit.given('q', 'pool', 'order', *CONDITIONS))}"
    if not chosen:
        raise BadInput("No memory was chosen: tick those that you mean first.")
    if len(chosen) > MOST_AT_ONCE:
        raise BadInput(f"{len(chosen)} memories were chosen; at most {MOST_AT_ONCE} are taken at once.")
    what = f"{len(chosen)} memories" if len(chosen) > 1 else "1 memory"
    if visit.field("do") == "forget":
        for one in chosen:
            forget(visit.backend, visit.caller, one)
        undo = f"/memories/{chosen[0]}/restore?ids={','.join(map(str, chosen[:50]))}"
        return Done(back, f"Forgotten: {what}. The trash keeps them for 30 days.", undo)
    status: Status = "hidden" if visit.field("do") == "hide" else "active"
    for one in chosen:
        edit(visit.backend, visit.caller, one, EditForm(status=status), get(visit.backend, visit.caller, one).version)
    return Done(back, f"{'Hidden' if status == 'hidden' else 'Shown again'}: {what}.")


@PAGES.action("/pool")
def bring_in(visit: Visit) -> Done:
    """Bring in one memory, trusted as it is."""
    given = {name: visit.fields.get(name) or None for name in ("pool", "prompt", "answer", "kind")}
    form = checked(MemoryForm, "The memory", **given, new_pool=visit.field("new_pool") == "yes")
    added = add(visit.backend, visit.caller, form)
    return Done(f"/memories/{added.memory.id}", "It is in the pool.")


@PAGES.screen("/trash")
def forgotten(visit: Visit) -> Screen:
    """What was forgotten in the last 30 days."""
    return Screen("trash", {"trash": trash(visit.backend, visit.caller, limit=200)})


def _rows(backend: Backend, caller: Caller, conditions: dict[str, JsonValue], text: str, order: str) -> Sequence[Row]:
    if text:
        form = checked(SearchForm, "The search", **conditions, text=text, k=SHOWN, mode="hybrid")
        return [Row(one.memory, one.similarity) for one in search(backend, caller, form).memories]
    listed = checked(PageForm, "The list", **conditions, order=order, limit=SHOWN)
    return [Row(one, None) for one in page(backend, caller, listed).memories]
