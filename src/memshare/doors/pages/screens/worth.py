"""Does it help: what memories were measured to do, scores one after the other, and what the retriever has learnt."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import quote

from memshare.client.journey import Journey
from memshare.client.replies import RecalledMemory
from memshare.client.rest.calls.memories import FoundMemory
from memshare.doors.pages.visit import PAGES, Done, Screen, Visit
from memshare.extras import NeedsExtra
from memshare.operations.forms import SearchForm
from memshare.operations.journeys import latest
from memshare.operations.listings import stats
from memshare.operations.retrievers import retrievers, rollback
from memshare.operations.search import search
from memshare.operations.sharing import recall
from memshare_broker.errors import BadInput
from memshare_broker.settings import OFFLINE
from memshare_memory.belief.lift import AT_RANDOM

HERE = "/worth"
COMPARED = 5  # memories of a query
GROUP = 20  # graded tasks, whose mean is a point of the line
LAST = {"": "all", "7": "a week", "1": "a day"}
"""Days that the chart shows → what they are called."""


class ComparedRankings(NamedTuple):
    """Memories found for a query, as ranked by the encoder alone and as ranked by the retriever now."""

    before: Sequence[FoundMemory]
    after: Sequence[RecalledMemory]


@PAGES.screen(HERE)
def worth(visit: Visit) -> Screen:
    """All of it, of the latest journeys and of the caller's pools."""
    backend, caller, days, agent = visit.backend, visit.caller, visit.field("days"), visit.field("agent")
    began = time.time() - 86_400 * int(days) if days in LAST and days else 0.0
    found, of_latest = latest(backend, caller, lambda one: one.remember and one.score, agent or None, began)
    graded = sorted(found, key=lambda one: one.graded_at)
    try:
        learnt, missing = (retrievers(backend, caller) if caller.may("recall") else None), ""
    except NeedsExtra as error:
        learnt, missing = None, str(error)
    counted = stats(backend, caller)
    return Screen(
        "worth",
        {
            "counted": counted,
            "helps": counted.told,
            "points": _points(graded),
            "graded": len(graded),
            "of_latest": of_latest,
            "last": LAST,
            "days": days,
            "agent": agent,
            "agents": sorted({one.agent for one in counted.helps if one.agent}),
            "by_chance": AT_RANDOM,
            "keep_days": backend.settings.keep_days,
            "learnt": learnt,
            "missing": missing,
            "jobs": visit.jobs,
            "is_offline": {one.trainer_model for one in backend.client.workers()} - {None} == {OFFLINE},
            "pools": visit.pools or (),
            "query": visit.field("query"),
            "pool": visit.field("pool"),
            "compared": _compared(visit),
        },
    )


@PAGES.action("/worth/{pool:path}/rollback")
def go_back(visit: Visit) -> Done:
    """Put another version of a retriever into use."""
    to = visit.field("to")
    if not to.isdecimal():
        raise BadInput(f"The version is {to!r}; give the number of one of the list.")
    done = rollback(visit.backend, visit.caller, visit.path["pool"], int(to))
    said = f"Version {done.version} is in use, before: {done.before}. Agents use it from their next task on."
    undo = f"/worth/{quote(visit.path['pool'], safe='')}/rollback?to={done.before}"
    return Done(HERE, said, undo)


def _points(graded: Sequence[Journey]) -> list[list[float | None]]:
    """For the chart: times, scores with memories, with one withheld and without any, and the mean of the last 20."""
    rows = []
    for end, one in enumerate(graded, 1):
        shown = (bool(one.memories) and not one.withheld, bool(one.withheld), not one.memories and not one.withheld)
        mean = sum(each.total for each in graded[end - GROUP : end]) / GROUP if end >= GROUP else None
        rows.append([one.graded_at, *(one.total if is_so else None for is_so in shown), mean])
    return [[*column] for column in zip(*rows, strict=True)]


def _compared(visit: Visit) -> ComparedRankings | None:
    text, pool = visit.field("query"), visit.field("pool")
    if not text or not pool:
        return None
    found = search(visit.backend, visit.caller, SearchForm(text=text, pool=pool, k=COMPARED, status="active")).memories
    recalled = visit.ask("The recall", recall, prompt=text, pool=pool, k=COMPARED).memories
    return ComparedRankings(found, recalled)
