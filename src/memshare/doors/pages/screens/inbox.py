"""Needs you: one list of what a person has to decide, the oldest first."""

from __future__ import annotations

from memshare.client.rest.calls.needs import Need
from memshare.doors.caller import LOCAL_NAME
from memshare.doors.calls.conflicts import decide
from memshare.doors.calls.dead_letters import drop, retry
from memshare.doors.calls.memories import edit, forget, get
from memshare.doors.calls.needs import needs
from memshare.doors.forms import EditForm
from memshare.doors.pages.visit import PAGES, Done, Screen, Visit
from memshare_memory.curate.requests import ConflictDecision

HERE = "/inbox"
SHOWN = 50
KINDS: dict[str, str] = {
    "conflict": "Contradictions",
    "stale memory": "Stale memories",
    "dead letter": "Dead letters",
    "rubric": "Rubrics to approve",
}
"""Kind → what its filter is called."""


@PAGES.screen(HERE)
def inbox(visit: Visit) -> Screen:
    """All that needs somebody, or of one kind."""
    found = needs(visit.backend, visit.caller, limit=500)
    counts = {kind: sum(one.kind == kind for one in found.needs) for kind in KINDS}
    kind = visit.field("kind")
    shown: list[Need] = [one for one in found.needs if kind in ("", one.kind)]
    return Screen(
        "inbox",
        {
            "needs": shown[:SHOWN],
            "total": found.total,
            "more": max(len(shown) - SHOWN, 0),
            "counts": counts,
            "kinds": KINDS,
            "kind": kind,
            "may_curate": visit.caller.may("curate"),
            "is_named": visit.caller.name != LOCAL_NAME,
        },
    )


@PAGES.action("/inbox/conflict")
def settle_conflict(visit: Visit) -> Done:
    """Say of two memories whether they contradict each other, or forget the one that is wrong."""
    one, other = visit.id("one"), visit.id("other")
    decision = visit.field("decision")
    if decision in ("forget one", "forget other"):
        wrong = one if decision == "forget one" else other
        forget(visit.backend, visit.caller, wrong)
        return Done(_here(visit), "The wrong one was forgotten.", f"/memories/{wrong}/restore")
    contradict = decision == "yes"
    decide(visit.backend, visit.caller, ConflictDecision(memories=(one, other), contradict=contradict))
    said = "Only the more credible one is shown now." if contradict else "Both may be shown: they agree."
    return Done(_here(visit), said)


@PAGES.action("/inbox/stale")
def settle_stale(visit: Visit) -> Done:
    """Keep a stale memory, or forget it."""
    memory_id = visit.id("memory")
    if visit.field("decision") == "forget":
        forget(visit.backend, visit.caller, memory_id)
        return Done(_here(visit), "It was forgotten.", f"/memories/{memory_id}/restore")
    version = get(visit.backend, visit.caller, memory_id).version
    edit(visit.backend, visit.caller, memory_id, EditForm(status="active"), version)
    return Done(_here(visit), "It is kept, and shown again.")


@PAGES.action("/inbox/letter")
def settle_letter(visit: Visit) -> Done:
    """Put a dead letter back into its queue, or drop it."""
    if visit.field("decision") == "drop":
        drop(visit.backend, visit.caller, visit.field("letter"))
        return Done(_here(visit), "It was dropped. Its journey keeps the reason.")
    retry(visit.backend, visit.caller, visit.field("letter"))
    return Done(_here(visit), "It is back in its queue.")


def _here(visit: Visit) -> str:
    return f"{HERE}?kind={kind}" if (kind := visit.field("kind")) in KINDS else HERE
