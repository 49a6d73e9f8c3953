"""Several memories of the list at once: hidden, shown again, or forgotten once it was said what else would go."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode
from uuid import UUID

from memshare.client.errors import NotFound
from memshare.doors.pages.render import counted
from memshare.doors.pages.screens.pool import CONDITIONS, HERE, SHOWN
from memshare.doors.pages.visit import PAGES, Done, Screen, Visit
from memshare.operations.forms import EditForm
from memshare.operations.memories import edit, forget, get, preview
from memshare_broker.errors import BadInput
from memshare_memory.memory import Status


@PAGES.action("/pool/several")
def do_to_several(visit: Visit) -> Done | Screen:
    """Hide or show the chosen memories, or ask before they are forgotten."""
    chosen = _chosen(visit)
    if visit.field("do") == "forget":
        found = [get(visit.backend, visit.caller, one).memory for one in chosen]
        more = [preview(visit.backend, visit.caller, one, with_children=True).memories - 1 for one in chosen]
        return Screen("forget_several", {"found": list(zip(found, more, strict=True)), "back": _back(visit)})
    status: Status = "hidden" if visit.field("do") == "hide" else "active"
    changed = []
    for one in chosen:
        found_one = get(visit.backend, visit.caller, one)
        if found_one.memory.status != status:
            edit(visit.backend, visit.caller, one, EditForm(status=status), found_one.version)
            changed.append((one, found_one.memory.status))
    said = f"{'Hidden' if status == 'hidden' else 'Shown again'}: {counted(len(changed), 'memory', 'memories')}."
    if not changed:
        said = f"Nothing was changed: {'all are hidden already' if status == 'hidden' else 'none is hidden or stale'}."
    return Done(_back(visit), said, _undo(changed, status))


@PAGES.action("/pool/several/forget")
def forget_several(visit: Visit) -> Done:
    """Forget the chosen memories, and what was written from them where the form says so."""
    gone: dict[UUID, None] = {}
    for one in _chosen(visit):
        if one not in gone:
            gone |= dict.fromkeys(_forget(visit, one))
    back = visit.field("back") if visit.field("back").startswith(f"{HERE}?") else HERE
    undo = f"/memories/{next(iter(gone))}/restore?ids={','.join(map(str, gone))}" if 0 < len(gone) <= SHOWN else ""
    said = f"Forgotten: {counted(len(gone), 'memory', 'memories')}. The trash keeps them for 30 days."
    return Done(back, said, undo)


def _forget(visit: Visit, memory: UUID) -> Sequence[UUID]:
    try:
        return forget(visit.backend, visit.caller, memory, with_children=visit.field("children") == "yes").ids
    except NotFound:  # somebody else was first
        return ()


def _chosen(visit: Visit) -> list[UUID]:
    chosen = visit.ids("id")
    if not chosen:
        raise BadInput("No memory was chosen: tick those that you mean first.")
    if len(chosen) > SHOWN:
        raise BadInput(f"{len(chosen)} memories were chosen; at most {SHOWN} are taken at once.")
    return chosen


def _undo(changed: Sequence[tuple[UUID, Status]], status: Status) -> str:
    """Where a POST takes it back; nowhere for a stale memory, which somebody has to decide on."""
    if not changed or any(before == "stale" for _, before in changed):
        return ""
    back = {"do": "show" if status == "hidden" else "hide", "id": ",".join(str(one) for one, _ in changed)}
    return f"/pool/several?{urlencode(back, safe=',')}"


def _back(visit: Visit) -> str:
    return f"{HERE}?{urlencode(visit.given('q', 'pool', 'order', 'page', *CONDITIONS))}"
