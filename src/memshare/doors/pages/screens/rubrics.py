"""Agents with their rubrics, and one rubric: beside another, as it was drafted, and tried before it holds."""

from __future__ import annotations

from urllib.parse import quote

from memshare.doors.caller import LOCAL_NAME
from memshare.doors.calls.listings import ApprovalForm, agents, approve_rubric, rubric, rubrics
from memshare.doors.calls.rubrics import TrialForm, drafting, tried, try_it
from memshare.doors.pages.visit import PAGES, Done, Screen, Visit
from memshare_broker.wire.checking import checked


@PAGES.screen("/agents")
def all_agents(visit: Visit) -> Screen:
    """The agents, and the rubrics by which their answers are graded."""
    return Screen(
        "agents", {"agents": agents(visit.backend, visit.caller), "rubrics": rubrics(visit.backend, visit.caller)}
    )


@PAGES.screen("/rubrics/{name}")
def one_rubric(visit: Visit) -> Screen:
    """A rubric, with another one beside it where the URL names one."""
    backend, caller = visit.backend, visit.caller
    shown = rubric(backend, caller, visit.path["name"])
    beside = visit.field("beside")
    there = agents(backend, caller)
    return Screen(
        "rubric",
        {
            "rubric": shown,
            "beside": rubric(backend, caller, beside) if beside else None,
            "others": [one.name for one in rubrics(backend, caller) if one.name != shown.name],
            "agents": [one for one in there if one.rubric],
            "graded_by_it": [one.name for one in there if one.rubric == shown.name],
            "drafting": drafting(backend, caller, shown.name) if caller.may("admin") else None,
            "tried": tried(backend, caller, shown.name) if caller.may("admin") else [],
            "may_approve": caller.may("admin"),
            "is_named": caller.name != LOCAL_NAME,
        },
    )


@PAGES.action("/rubrics/{name}/trial")
def grade_again(visit: Visit) -> Done:
    """Have the last graded pairs of an agent graded by a rubric that does not hold yet."""
    name = visit.path["name"]
    try_it(visit.backend, visit.caller, name, checked(TrialForm, "The trial", agent=visit.field("agent")))
    return Done(f"/rubrics/{quote(name, safe='')}#trial")


@PAGES.action("/rubrics/{name}/approve")
def approve(visit: Visit) -> Done:
    """Approve the version of a rubric that was read."""
    form = checked(ApprovalForm, "The approval", version=visit.field("version"), by=visit.field("by") or None)
    approved = approve_rubric(visit.backend, visit.caller, visit.path["name"], form)
    said = f"The rubric {approved.name} is approved: answers are graded by it."
    return Done(visit.field("back") if visit.field("back") == "/inbox" else f"/rubrics/{quote(approved.name)}", said)
