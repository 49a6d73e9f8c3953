"""Agents as their files say, and rubrics: one beside another, as it was drafted, and tried before it holds."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from memshare.doors.pages.visit import PAGES, Done, Screen, Visit
from memshare.operations.listings import (
    agent,
    agents,
    approve_rubric,
    is_bundled,
    rubric,
    rubrics,
    withdraw_rubric,
)
from memshare.operations.operating import dead_letters
from memshare.operations.trials import drafting, tried, try_it, with_answers
from memshare_broker.errors import BadInput
from memshare_scorer.rubric import find_rubric


@PAGES.screen("/agents")
def all_agents(visit: Visit) -> Screen:
    """The agents, and the rubrics by which their answers are graded."""
    there = {"agents": agents(visit.backend, visit.caller), "rubrics": rubrics(visit.backend, visit.caller)}
    settings = visit.backend.settings
    values = {**there, "jobs": visit.jobs, "model": settings.model_for("scorer"), "drafts_into": settings.agents_dir}
    return Screen("agents", values)


@PAGES.screen("/agents/{name}")
def one_agent(visit: Visit) -> Screen:
    """An agent as its file says, beside the rubric by which its answers are graded."""
    shown = agent(visit.backend, visit.caller, visit.path["name"])
    there = {one.name: one for one in rubrics(visit.backend, visit.caller)}
    return Screen("agent", {"agent": shown, "rubric": there.get(shown.rubric or "")})


@PAGES.screen("/rubrics/{name}")
def one_rubric(visit: Visit) -> Screen:
    """A rubric, with another one beside it where the URL names one."""
    return Screen("rubric", _values(visit))


@PAGES.action("/rubrics/{name}/trial")
def grade_again(visit: Visit) -> Done | Screen:
    """Have the last graded pairs of an agent graded by a rubric that does not hold yet."""
    name, chosen = visit.path["name"], visit.field("agent")
    try:
        visit.ask("The trial", try_it, name, agent=chosen)
    except BadInput as error:
        return Screen("rubric", _values(visit, str(error)), status=422)
    return Done(f"/rubrics/{quote(name, safe='')}?{urlencode({'agent': chosen})}#trial")


@PAGES.action("/rubrics/{name}/approve")
def approve(visit: Visit) -> Done:
    """Approve the version of a rubric that was read."""
    version, by = visit.field("version"), visit.field("by") or None
    approved = visit.ask("The approval", approve_rubric, visit.path["name"], version=version, by=by)
    said, page = f"The rubric {approved.name} is approved.", f"/rubrics/{quote(approved.name)}"
    if visit.field("back") != "/inbox":
        return Done(page, said)
    counts = any(one.rubric == approved.name for one in agents(visit.backend, visit.caller))
    return Done(
        "/inbox", said if counts else f"{said} No agent is graded by it yet: {page} says what to write for that."
    )


@PAGES.action("/rubrics/{name}/withdraw")
def withdraw(visit: Visit) -> Done:
    """Withdraw the approval of a rubric; undone, it is approved again by whoever had."""
    name = visit.path["name"]
    before = find_rubric(name, visit.backend.settings.agents_dir).approval
    withdrawn = withdraw_rubric(visit.backend, visit.caller, name)
    page = f"/rubrics/{quote(name, safe='')}"
    again = urlencode({"version": withdrawn.version, "by": before.by}) if before else ""
    return Done(page, f"The approval of the rubric {name} is withdrawn.", f"{page}/approve?{again}" if again else "")


def _values(visit: Visit, missing: str = "") -> dict[str, object]:
    backend, caller = visit.backend, visit.caller
    shown = rubric(backend, caller, visit.path["name"])
    beside, own = visit.field("beside"), find_rubric(shown.name, backend.settings.agents_dir)
    there = [one for one in agents(backend, caller) if one.rubric]
    answered = with_answers(backend, caller) if caller.may("admin") else frozenset()
    # Those with answers come first, and of these whose file names the rubric.
    ranked = sorted(there, key=lambda one: (one.name not in answered, one.rubric != shown.name))
    return {
        "rubric": shown,
        "approval": own.approval if shown.approved else None,
        "by_programs": all(one.check for one in own.criteria),
        "beside": rubric(backend, caller, beside) if beside else None,
        "others": [one.name for one in rubrics(backend, caller) if one.name != shown.name],
        "agents": there,
        "chosen": visit.field("agent") or next((one.name for one in ranked), ""),
        "answered": sorted(one.name for one in there if one.name in answered),
        "missing": missing,
        "graded_by_it": [one.name for one in there if one.rubric == shown.name],
        "drafting": drafting(backend, caller, shown.name) if caller.may("admin") else None,
        "tried": tried(backend, caller, shown.name) if caller.may("admin") else [],
        "may_withdraw": caller.may("admin") and shown.approved and not is_bundled(backend, shown.name),
        "given_up": sum(one.reason == "rubric" for one in dead_letters(backend, caller)) if caller.may("admin") else 0,
    }
