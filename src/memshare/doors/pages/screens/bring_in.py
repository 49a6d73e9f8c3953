"""Bringing memories in: one that is typed, or a file of them, which is looked at before anything is done."""

from __future__ import annotations

from urllib.parse import urlencode

from memshare.client.rest.calls.memories import ImportReply
from memshare.doors.pages.render import counted
from memshare.doors.pages.screens.memory import ask_again
from memshare.doors.pages.screens.pool import HERE
from memshare.doors.pages.visit import PAGES, Done, Screen, Visit
from memshare.files.json_lines import is_table
from memshare.operations.forms import MemoryForm
from memshare.operations.memories import add, has_changed, import_memories
from memshare_broker.errors import BadInput
from memshare_broker.wire.forms import checked

HOW = ("source", "score", "at_least", "scale")
"""Fields that say how the runs of a file are read."""


@PAGES.action(HERE)
def bring_in_one(visit: Visit) -> Done:
    """Bring in one memory, trusted as it is."""
    given = {name: visit.fields.get(name) or None for name in ("pool", "prompt", "answer", "kind")}
    form = checked(MemoryForm, "The memory", **given, new_pool=visit.field("new_pool") == "yes")
    there = add(visit.backend, visit.caller, form).memory
    if has_changed(there, form):
        return Done(f"/memories/{there.id}", "It was there already, and was changed since: this is what it says now.")
    back = visit.back if (status := there.status) == "active" else ""
    said = f".{ask_again(back)}" if status == "active" else f", but {status}: if it is right, show it again here."
    return Done(back or f"/memories/{there.id}", f"It is in the pool{said}")


@PAGES.screen("/pool/import")
def choose_file(visit: Visit) -> Screen:
    """The form that a file is chosen in."""
    visit.caller.require_all()
    return _screen(visit, {"pool": visit.field("pool")})


def _screen(visit: Visit, form: dict[str, object], found: ImportReply | None = None) -> Screen:
    concepts = visit.backend.settings.concepts and visit.backend.settings.model_for("scorer")
    there = {"pools": visit.pools or (), "jobs": visit.jobs, "model": concepts}
    return Screen("import", {**there, "form": form, "found": found})


@PAGES.action("/pool/import")
def import_file(visit: Visit) -> Done | Screen:
    """Show what a file would bring in, or bring it in once that was seen."""
    is_seen = visit.field("seen") == "yes"
    form: dict[str, object] = {"lines": visit.fields.get("lines", ""), "new_pool": visit.field("new_pool") == "yes"}
    form |= visit.given("pool", *HOW)
    is_rows = is_table(visit.field("lines name"), visit.field("lines"))
    source = form.get("source") or ("table" if is_rows else None)
    wanted = form | {"source": None if source == "memories" else source}
    empty = "The file is empty, or none was chosen: choose a file of JSON lines, a table or a document."
    if fault := visit.field("lines fault") or ("" if visit.field("lines") else empty):
        raise BadInput(fault)
    found = visit.ask("The file", import_memories, **wanted, dry_run=not is_seen)
    if not is_seen:
        return _screen(visit, form if found.refused else wanted, found)
    said = f"Brought in: {counted(found.new, 'new memory', 'new memories')}; {found.there} already there."
    return Done(f"{HERE}?{urlencode(visit.given('pool'))}", f"{said} {found.unread}")
