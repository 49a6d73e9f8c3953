"""One memory: what it says and said before, and what it was worth; changed, hidden, forgotten, brought back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from uuid import UUID

from memshare.client.errors import NotFound, Stale
from memshare.client.rest.calls.memories import MemoryReply
from memshare.doors.calls.memories import edit, forget, get, preview
from memshare.doors.calls.trash import restore
from memshare.doors.forms import EditForm
from memshare.doors.pages.visit import PAGES, Done, Screen, Visit
from memshare_memory.memory import Memory, Revision, Status

Pieces = tuple[tuple[str, str], ...]
"""Parts of a text, each with "same", "gone" or "new"."""


LONGEST_COMPARED = 2_000  # words
MOST_UNDONE = 50  # memories: more of them do not fit into a cookie


@dataclass(frozen=True)
class Change:
    """What a revision changed of prompt and answer, as pieces; None where it stayed as it was."""

    by: str | None
    at: float
    prompt: Pieces | None
    answer: Pieces | None


@PAGES.screen("/memories/{id}")
def memory(visit: Visit) -> Screen:
    """A memory as it is now, with its history."""
    found = get(visit.backend, visit.caller, _id(visit))
    return Screen("memory", _values(visit, found))


@PAGES.action("/memories/{id}")
def change(visit: Visit) -> Done | Screen:
    """Change the text of a memory; where somebody has changed it meanwhile, both texts are shown."""
    memory_id = _id(visit)
    before = get(visit.backend, visit.caller, memory_id).memory
    prompt, answer = visit.fields.get("prompt") or None, visit.fields.get("answer") or None
    form = EditForm(prompt=None if before.prompt is None else prompt, answer=answer)
    try:
        edit(visit.backend, visit.caller, memory_id, form, visit.field("version"))
    except Stale:
        values = _values(visit, get(visit.backend, visit.caller, memory_id))
        return Screen("memory", {**values, "mine": {"prompt": prompt, "answer": answer}}, status=412)
    return Done(f"/memories/{memory_id}", "The memory was changed.")


@PAGES.action("/memories/{id}/status")
def set_status(visit: Visit) -> Done:
    """Hide a memory, or let it be shown again."""
    memory_id = _id(visit)
    status: Status = "hidden" if visit.field("status") == "hidden" else "active"
    edit(visit.backend, visit.caller, memory_id, EditForm(status=status), visit.field("version"))
    said = "It is hidden: no task is shown it." if status == "hidden" else "It is shown again."
    return Done(_back(visit) or f"/memories/{memory_id}", said)


@PAGES.screen("/memories/{id}/forget")
def before_forgetting(visit: Visit) -> Screen:
    """What forgetting a memory would take."""
    backend, caller, memory_id = visit.backend, visit.caller, _id(visit)
    found = get(backend, caller, memory_id)
    derived = preview(backend, caller, memory_id, with_children=True)
    return Screen("forget", {"found": found, "derived": derived, "back": _back(visit)})


@PAGES.action("/memories/{id}/forget")
def forget_it(visit: Visit) -> Done:
    """Forget a memory, and what was derived from it where the form says so."""
    memory_id = _id(visit)
    ids = forget(visit.backend, visit.caller, memory_id, with_children=visit.field("children") == "yes").ids
    said = f"{len(ids)} memories were forgotten." if len(ids) > 1 else "The memory was forgotten."
    undo = f"/memories/{memory_id}/restore?ids={','.join(map(str, ids))}" if len(ids) <= MOST_UNDONE else ""
    back = _back(visit)
    again = " Ask again, to see what is answered now." if back.startswith("/journeys/") else ""
    return Done(back or "/", f"{said} The trash keeps it for 30 days.{again}", undo)


@PAGES.action("/memories/{id}/restore")
def bring_back(visit: Visit) -> Done:
    """Bring a memory back, and those that went with it."""
    memory_id = _id(visit)
    ids = visit.ids("ids") or [memory_id]
    for one in ids:
        restore(visit.backend, visit.caller, one)
    if len(ids) > 1:
        return Done("/pool", f"{len(ids)} memories are back, as they were.")
    return Done(f"/memories/{memory_id}", "It is back, as it was.")


def _values(visit: Visit, found: MemoryReply) -> dict[str, object]:
    return {
        "found": found,
        "memory": found.memory,
        "changes": [*_changes(found.memory)],
        "parents": [*_shown(visit, found.memory.parents)],
        "rivals": [*_shown(visit, found.conflicts)],
        "mine": None,
        "may_curate": visit.caller.may("curate"),
    }


def _shown(visit: Visit, ids: Iterable[UUID]) -> Iterator[tuple[UUID, Memory | None]]:
    """Memories by their ids; None for one that is gone."""
    for one in ids:
        try:
            yield one, get(visit.backend, visit.caller, one).memory
        except NotFound:
            yield one, None


def _changes(memory: Memory) -> Iterator[Change]:
    """Its history, the last change first."""
    said: list[Revision | Memory] = [*memory.history, memory]
    for before, after in reversed([*pairwise(said)]):
        assert isinstance(before, Revision)
        yield Change(
            before.by, before.until, _difference(before.prompt, after.prompt), _difference(before.answer, after.answer)
        )


def _difference(before: str | None, after: str | None) -> Pieces | None:
    """What was said and what is said now, word by word."""
    old, new = (before or "").split(" "), (after or "").split(" ")
    if old == new:
        return None
    if max(len(old), len(new)) > LONGEST_COMPARED:
        return (("gone", before or ""), ("new", after or ""))
    pieces: list[tuple[str, str]] = []
    for kind, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            pieces.append(("same", " ".join(old[start:end])))
            continue
        if start < end:
            pieces.append(("gone", " ".join(old[start:end])))
        if new_start < new_end:
            pieces.append(("new", " ".join(new[new_start:new_end])))
    return tuple(pieces)


def _id(visit: Visit) -> UUID:
    try:
        return UUID(visit.path["id"])
    except ValueError as error:
        raise NotFound(f"No memory has the id {visit.path['id']!r}.") from error


def _back(visit: Visit) -> str:
    """The page from which one came, if it is one of ours."""
    back = visit.field("back")
    return back if back.startswith("/") and not back.startswith(("//", "/\\")) else ""
