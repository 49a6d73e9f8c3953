"""Pages of memories, alone or several at once: their text and worth; changed, hidden, forgotten, brought back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from urllib.parse import quote, urlencode
from uuid import UUID

from memshare.client.errors import NotFound, Stale
from memshare.client.rest.calls.decisions import SubmitterReply
from memshare.client.rest.calls.memories import MemoryReply
from memshare.doors.pages.render import counted
from memshare.doors.pages.screens.pool import CONDITIONS, HERE, SHOWN
from memshare.doors.pages.visit import PAGES, Done, Screen, Visit
from memshare.operations.decisions import call_wrong, promoted_from, submitter_of, views
from memshare.operations.forms import PageForm
from memshare.operations.journeys import own_journey
from memshare.operations.memories import changes, edit, forget, get, preview, restore, whole_id
from memshare.operations.opinions import called_wrong_in, note_hidden, says_so, standing, still_lost, that_are_shown
from memshare.operations.search import page, shown_to
from memshare_broker.errors import BadInput
from memshare_memory.memory import Memory, Status


@PAGES.action("/pool/several")
def do_to_several(visit: Visit) -> Done | Screen:
    """Hide or show the chosen memories, or ask before they are forgotten."""
    if not visit.ids("id"):
        return Done(_back(visit), "No memory was chosen: tick those that you mean first.")
    chosen = _chosen(visit)
    if visit.field("do") == "forget":
        return _before_forgetting(visit, chosen, _back(visit))
    status: Status = "hidden" if visit.field("do") == "hide" else "active"
    at, name = (visit.backend, visit.caller), visit.field("journey")
    journey = own_journey(*at, name) if name else None
    others = [one for one in (get(*at, each) for each in chosen) if one.memory.status != status]
    if journey and status == "hidden":  # the page may have stood open while somebody corrected some of them
        others = [one for one in others if says_so(journey, one.memory)]
    kept = set[UUID]()
    if others and journey:  # they say what was found wrong of its answer, as hiding them has to know
        kept = note_hidden(*at, journey, [one.memory.id for one in others], hidden=status == "hidden")
    others = [one for one in others if one.memory.id not in kept]
    now = [edit(*at, one.memory.id, one.version, status=status).memory.status for one in others]
    lost = still_lost(visit.backend, [one.memory.id for one in others])
    said = "Hidden" if status == "hidden" else "No longer hidden or stale" if lost else "Shown again"
    said += f": {counted(now.count(status), 'memory', 'memories')}.{lost}"
    said += f" Stale again, until somebody decides: {now.count('stale')}." if "stale" in now else ""
    wrong = [one.called_wrong for one in others if status == "active" and one.called_wrong]
    if wrong and not any(standing(visit.backend, one.memory.id) for one in others):
        said += f" {len(wrong)} of them had been called wrong, and may be remembered again."
    said += standing(visit.backend, next(iter(kept), None))
    if not others and not kept:
        hidden = "none that says so is shown any more" if journey else "all are hidden already"
        said = f"Nothing was changed: {hidden if status == 'hidden' else 'none is hidden or stale'}."
    journeys = {one.journey or "" for one in wrong} or {name}
    return Done(
        visit.back or _back(visit), said, _undo(visit, others, status, journeys.pop() if len(journeys) == 1 else "")
    )


@PAGES.action("/pool/several/forget")
def forget_several(visit: Visit) -> Done:
    """Forget the chosen memories, and what was written from them where the form says so."""
    gone: dict[UUID, None] = {}
    for one in _chosen(visit):
        with suppress(NotFound):  # somebody else was first, or it was written from one before
            ids = forget(visit.backend, visit.caller, one, with_children=visit.field("children") == "yes").ids
            gone |= dict.fromkeys(ids)
    said = f"Forgotten: {counted(len(gone), 'memory', 'memories')}. The trash has what was forgotten for 30 days."
    return Done(visit.back or "/", said + ask_again(visit.back), back_from_trash([*gone], visit.back))


def _before_forgetting(visit: Visit, ids: Iterable[UUID], back: str) -> Screen:
    """Each memory, with what was written from it."""
    at = visit.backend, visit.caller
    found = [(get(*at, one).memory, preview(*at, one, with_children=True)) for one in ids]
    return Screen("forget", {"found": found, "back": back, "children": visit.field("children")})


def _chosen(visit: Visit) -> list[UUID]:
    chosen = visit.ids("id")
    if len(chosen) > SHOWN:
        raise BadInput(f"{len(chosen)} memories were chosen; at most {SHOWN} are taken at once.")
    return chosen


def _undo(visit: Visit, before: Sequence[MemoryReply], status: Status, journey: str) -> str:
    """Where a POST takes it back; nowhere where one is shown that was stale, or would not be stale again."""
    some = [one.memory for one in before]
    if not some or any(one.status == "stale" and (status == "active" or not one.because) for one in some):
        return ""
    back = {"do": "show" if status == "hidden" else "hide", "id": ",".join(str(one.id) for one in some)}
    back |= {"back": visit.back or _back(visit), "journey": journey}
    return f"/pool/several?{urlencode(back, safe=',')}"


def _back(visit: Visit) -> str:
    return f"{HERE}?{urlencode(visit.given('q', 'pool', 'order', 'page', *CONDITIONS))}"


SAID: dict[Status, str] = {
    "active": "It is shown again.",
    "hidden": "It is hidden: no task is shown it.",
    "stale": "It is stale again: somebody has to decide.",
}
MOST_CHILDREN = SHOWN_TO = 20  # memories written from it, and tasks that it was shown to
MOST_UNDONE = 50  # memories, whose ids an address names


@PAGES.screen("/memories/{id}")
def memory(visit: Visit) -> Screen:
    """A memory as it is now, with its history."""
    found = get(visit.backend, visit.caller, _id(visit))
    return Screen("memory", _values(visit, found))


@PAGES.screen("/memories/{id}/views")
def who_says_what(visit: Visit) -> Screen:
    """All answers of its pool to the question of a memory."""
    return Screen("views", {"found": views(visit.backend, visit.caller, _id(visit))})


@PAGES.action("/memories/{id}")
def change(visit: Visit) -> Done | Screen:
    """Change the text of a memory; where somebody has changed it meanwhile, both texts are shown."""
    memory_id, back = _id(visit), visit.back
    before = get(visit.backend, visit.caller, memory_id).memory
    prompt, answer = visit.fields.get("prompt") or None, visit.fields.get("answer") or None
    texts = {"prompt": None if before.prompt is None else prompt, "answer": answer}
    try:
        now = visit.ask("The memory", edit, memory_id, visit.field("version"), **texts)
    except Stale:
        values = _values(visit, get(visit.backend, visit.caller, memory_id))
        return Screen("memory", {**values, "mine": {"prompt": prompt, "answer": answer}}, status=412)
    is_new = len(now.memory.history) > len(before.history)
    undo = f"/memories/{memory_id}/text-before?{urlencode({'version': now.version, 'back': back})}" if is_new else ""
    if now.memory.status == "hidden":
        why = f", as {now.called_wrong.by} called that wrong" if now.called_wrong else ""
        said = "It is still hidden." if before.status == "hidden" else f"It is hidden{why}."
        return Done(f"/memories/{memory_id}", f"The memory was changed. {said}", undo)
    said = "The memory was changed, and is shown again." if before.status == "hidden" else "The memory was changed."
    return Done(back or f"/memories/{memory_id}", said + _active_again(now) + ask_again(back), undo)


@PAGES.action("/memories/{id}/text-before")
def put_text_back(visit: Visit) -> Done:
    """Let a memory say what it said before its last change; raises `Stale` where somebody has changed it meanwhile."""
    memory_id = _id(visit)
    history = get(visit.backend, visit.caller, memory_id).memory.history
    if not history:
        raise BadInput("This memory has said nothing else before.")
    last, version = history[-1], visit.field("version")
    now = edit(visit.backend, visit.caller, memory_id, version, prompt=last.prompt, answer=last.answer)
    said = f"It says again what it said before. It has to prove itself anew.{_active_again(now)}"
    return Done(visit.back or f"/memories/{memory_id}", said)


def _active_again(now: MemoryReply) -> str:
    again = counted(now.active_again, "answer")
    return f" Written from this text, and shown again: {again}." if now.active_again else ""


@PAGES.action("/memories/{id}/status")
def set_status(visit: Visit) -> Done:
    """Hide a memory, let it be shown again, or take that back."""
    memory_id, at, back = _id(visit), (visit.backend, visit.caller), visit.back
    before = get(*at, memory_id)
    journeys = called_wrong_in(visit.backend, before.memory) if before.called_wrong else ()
    if visit.field("status") == "hidden" and before.version == visit.field("version"):
        for name in filter(None, visit.fields.getlist("journey")):  # it was called wrong
            note_hidden(*at, own_journey(*at, name), [memory_id], hidden=True)
    now = visit.ask("The memory", edit, memory_id, visit.field("version"), status=visit.field("status"))
    wrong, lost = before.called_wrong, still_lost(visit.backend, [memory_id])
    said = f"It is neither hidden nor stale.{lost}" if lost else SAID[now.memory.status]
    if wrong and now.memory.status == "active":
        said += standing(visit.backend, memory_id) or f" What {wrong.by} called wrong may be remembered again."
    undo = back_to(now, before.memory.status, back, journeys)
    if wrong and undo and not journeys:  # it was said of the memory itself
        undo = f"/memories/{memory_id}/wrong?{urlencode({'why': wrong.why, 'back': back})}"
    return Done(back or f"/memories/{memory_id}", said, undo)


@PAGES.action("/memories/{id}/wrong")
def call_it_wrong(visit: Visit) -> Done:
    """Call what a memory says wrong."""
    memory_id, back = _id(visit), visit.back
    ids = visit.ask("The word", call_wrong, memory_id, why=visit.field("why") or None).ids
    now = get(visit.backend, visit.caller, memory_id)
    said = f"Hidden, as it is wrong, with what says the same: {counted(len(ids), 'memory', 'memories')}."
    name = now.called_wrong.journey if now.called_wrong else ""
    undo = f"/journeys/{quote(name, safe='')}/feedback?answer=undecided" if name else back_to(now, "active", back)
    return Done(back or f"/memories/{memory_id}", f"{said} It is not brought in again.", undo)


def back_to(now: MemoryReply, before: Status, back: str, journeys: Sequence[str] = ()) -> str:
    """Where a POST takes a change of the status back, as long as nobody has changed the memory meanwhile."""
    query = urlencode({"status": before, "version": now.version, "back": back, "journey": journeys}, doseq=True)
    return f"/memories/{now.memory.id}/status?{query}" if before != now.memory.status else ""


@PAGES.screen("/memories/{id}/forget")
def before_forgetting(visit: Visit) -> Screen:
    """A preview of forgetting a memory."""
    return _before_forgetting(visit, [_id(visit)], visit.back)


def back_from_trash(ids: Sequence[UUID], back: str) -> str:
    """Where a POST brings forgotten memories back, and goes on to `back`; nowhere for none, or for too many."""
    query = urlencode({"ids": ",".join(map(str, ids)), "back": back}, safe=",")
    return f"/memories/{ids[0]}/restore?{query}" if 0 < len(ids) <= MOST_UNDONE else ""


def ask_again(back: str) -> str:
    """The possible next step on the page that somebody goes back to, where that is a journey's."""
    return " Ask again, to see what is answered now." if back.startswith("/journeys/") else ""


@PAGES.action("/memories/{id}/restore")
def bring_back(visit: Visit) -> Done:
    """Bring a memory back, and those that went with it."""
    ids = visit.ids("ids") or [_id(visit)]
    for one in ids:
        restore(visit.backend, visit.caller, one)
    if len(ids) > 1:
        return Done(visit.back or "/pool", f"{len(ids)} memories are back, as they were.")
    return Done(visit.back or f"/memories/{ids[0]}", "It is back, as it was.")


def _values(visit: Visit, found: MemoryReply) -> dict[str, object]:
    causes = [cause.memory for cause in found.memory.because]
    return {
        "found": found,
        "memory": found.memory,
        "changes": [*changes(found.memory)],
        "parents": [*_shown(visit, found.memory.parents)],
        **_children(visit, found.memory),
        "sources": [*zip(found.memory.because, (one for _, one in _shown(visit, causes)), strict=True)],
        "rivals": [*_shown(visit, (*found.conflicts, *found.both_right))],
        "by": _submitter(visit, found.memory),
        "told": shown_to(visit.backend, visit.caller, found.memory.id, limit=SHOWN_TO),
        "promoted": promoted_from(visit.backend, visit.caller, found.memory),
        "mine": None,
        "back": visit.back,
    }


def _shown(visit: Visit, ids: Iterable[UUID]) -> Iterator[tuple[UUID, Memory | None]]:
    """Memories by their ids; None for one that is gone."""
    for one in ids:
        try:
            yield one, get(visit.backend, visit.caller, one).memory
        except NotFound:
            yield one, None


def _submitter(visit: Visit, memory: Memory) -> SubmitterReply | None:
    """Whoever submitted a memory, as far as their memories have to prove themselves."""
    if memory.task_id is None or not visit.backend.settings.learn:
        return None
    return submitter_of(visit.backend, memory.pool, memory.submitter)


def _children(visit: Visit, memory: Memory) -> dict[str, object]:
    """The memories written from a memory, the newest first, and whether there are more."""
    pool = None if visit.caller.pools is None else memory.pool
    form = PageForm(parent=memory.id, pool=pool, order="created", limit=MOST_CHILDREN + 1)
    found, copies = page(visit.backend, visit.caller, form).memories, that_are_shown(visit.backend, memory)
    return {"children": found[:MOST_CHILDREN], "more_children": len(found) > MOST_CHILDREN, "copies": copies}


def _id(visit: Visit) -> UUID:
    return whole_id(visit.backend, visit.path["id"])
