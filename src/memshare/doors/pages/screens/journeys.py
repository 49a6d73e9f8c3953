"""The journeys that began last, with a box to try a prompt, and what a journey's buttons do."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import quote, urlencode

from memshare.client.replies import AgentReply
from memshare.client.rest.calls.journeys import BriefJourney
from memshare.doors.pages.visit import PAGES, Done, Screen, Visit
from memshare.operations.journeys import MOST, again, cancel, journeys, own_journey
from memshare.operations.listings import agents, stats
from memshare.operations.operating import retry
from memshare.operations.serving import form_of, has_decided
from memshare.operations.submitting import submit
from memshare_broker.errors import BadInput
from memshare_broker.settings import OFFLINE
from memshare_broker.wire.forms import checked

SHOWN = 30
CANCELLED = {
    "cancelled": "The task was cancelled.",
    "running": "A worker is at it: it ends after this step.",
    "ended": "It had ended before.",
    "unknown": "Nothing is known of it any more.",
}

FILTERS = {
    "state": {"queued": "waiting", "dead": "given up"},
    "accepted": {"true": "accepted", "false": "not accepted"},
    "opinion": {"wrong": "said to be wrong"},
    "within": {"3600": "last hour", "86400": "last day", "604800": "last week"},
}
"""Field → its values, and what the filter of each is called. The address with its filters is a view to keep."""
ORDERS: dict[str, Callable[[BriefJourney], float]] = {  # the highest first; after a minus the lowest
    "score": lambda one: one.score.total if one.score else -1.0,
    "memories": lambda one: len(one.memories) if one.what == "task" else -1.0,
    "submitted": lambda one: one.submitted,
}


@PAGES.screen("/journeys")  # a journey's address, cut short
@PAGES.screen("/")
def recent(visit: Visit) -> Screen:
    """The latest journeys, and the box."""
    backend, caller = visit.backend, visit.caller
    there = agents(backend, caller)
    asked = visit.given("agent", "submitter", *FILTERS)
    given = {name: value for name, value in asked.items() if name != "within"}
    limit = MOST if (more := visit.given("more")) else SHOWN
    if within := asked.get("within"):
        given["after"] = str(time.time() - float(within)) if within.isdecimal() else within
    wanted = checked(form_of(journeys), "What is listed", **given, limit=limit)
    reply = journeys(backend, caller, **dict(wanted))
    found = reply.journeys
    order = visit.field("order") or "submitted"
    key = ORDERS.get(order.removeprefix("-"), ORDERS["submitted"])
    return Screen(
        "journeys",
        {
            "agents": there,
            "journeys": sorted(found, key=key, reverse=not order.startswith("-")),
            "chosen": asked.get("agent") or _asked_last(visit, () if asked else found) or _with_memories(visit, there),
            "filters": _filters(asked),
            "asked": {**asked, **more},
            "is_cut": len(found) == limit,
            "of_latest": reply.of_latest,
            "most": MOST,
            "order": order,
            "is_part": bool(asked),
            "is_offline": any(one.workers and one.model == OFFLINE for one in there),
            "steps": [] if asked else _first_steps(visit, found),
        },
    )


@PAGES.action("/journeys")
def try_prompt(visit: Visit) -> Done:
    """Submit the task in the box."""
    agent, _, kind = visit.field("what").partition("/")
    shown = visit.field("memories")
    if shown and not shown.isdecimal():
        raise BadInput(f"The number of memories is {shown!r}; give a whole number, or none for the agent's own.")
    given = {"agent": agent, "kind": kind or None, "memories": int(shown) if shown else None}
    given |= {"prompt": visit.field("prompt") or None, "remember": visit.field("remember") != "no"}
    return _to(visit.ask("The task", submit, **given).id)


@PAGES.action("/journeys/{id}/again")
def try_again(visit: Visit) -> Done:
    """Ask the same again: as it was, or without memories beside the first answer."""
    alone = visit.field("memories") == "0"
    found = again(visit.backend, visit.caller, visit.path["id"], 0 if alone else None, remember=not alone)
    return _to(found.id, beside=visit.path["id"])


@PAGES.action("/journeys/{id}/cancel")
def end(visit: Visit) -> Done:
    """Cancel a journey."""
    outcome = cancel(visit.backend, visit.caller, visit.path["id"]).outcome
    return _to(visit.path["id"], said=CANCELLED[outcome])


@PAGES.action("/journeys/{id}/retry")
def retry_dead(visit: Visit) -> Done:
    """Put the dead letter of a journey back into its queue."""
    letter = own_journey(visit.backend, visit.caller, visit.path["id"]).dead_letter
    if letter is None:
        raise BadInput("This journey was not given up, so there is nothing to try again.")
    retried = retry(visit.backend, visit.caller, letter).retried
    said = "It is back in its queue." if retried else "Somebody else was first: it was put back before."
    return _to(visit.path["id"], said=said)


def _asked_last(visit: Visit, listed: Sequence[BriefJourney]) -> str:
    """The agent, with the kind, of the caller's own journey among the latest ones; nothing where it has none there."""
    latest = listed or journeys(visit.backend, visit.caller, limit=SHOWN).journeys
    own = next((one for one in latest if one.submitter == visit.caller.name), None)
    return f"{own.agent}/{own.kind}" if own and own.kind else own.agent if own else ""


def _with_memories(visit: Visit, there: Sequence[AgentReply]) -> str:
    """The agent that is shown the most memories, one that runs before the others; nothing where no pool has any."""
    memories = {one.name: one.memories for one in visit.pools or ()}
    known = [one for one in there if memories.get(one.pool)]
    return max(known, key=lambda one: (one.workers > 0, memories[one.pool])).name if known else ""


def _filters(asked: Mapping[str, str]) -> list[tuple[str, str, bool]]:
    """Each filter: its name, the query with it, or without it where it is on, and whether it is."""
    others = {name: {value: value} for name, value in asked.items() if value not in FILTERS.get(name, ())}
    made = []
    for field, values in [*others.items(), *FILTERS.items()]:
        for value, name in values.items():
            is_on, rest = asked.get(field) == value, {key: one for key, one in asked.items() if key != field}
            made.append((name, urlencode(rest if is_on else {**asked, field: value}), is_on))
    return made


def _first_steps(visit: Visit, found: Sequence[BriefJourney]) -> list[tuple[str, str, str, bool]]:
    """Name, address, what it is about, and if it is done, of each step of a first visit, until somebody has decided
    something and there is a page of journeys, or all are done."""
    decided = has_decided(visit.backend)
    if visit.pools is None or (decided and len(found) >= SHOWN):
        return []
    first = stats(visit.backend, visit.caller).first_help
    helps = first.in_words if first else "takes graded tasks"
    brings_in = "/pool/import" if visit.caller.may_all else "/pool#bring-in"
    steps = [
        ("Bring in", brings_in, "what you know, as a file", any(one.memories for one in visit.pools)),
        ("Ask", "#prompt", "an agent, here", bool(found)),
        ("Decide", "/inbox", "what needs you", decided),
        ("See whether it helps", "/worth", helps, first is not None and first.difference is not None),
    ]
    return [] if all(done for *_, done in steps) else steps


def _to(journey: str, *, beside: str = "", said: str = "") -> Done:
    other = f"?beside={quote(beside, safe='')}" if beside else ""
    return Done(f"/journeys/{quote(journey, safe='')}{other}", said)
