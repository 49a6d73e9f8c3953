"""Does it help: scores with and without memories, what showing one does, and what the retriever has learnt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote

from memshare.client.replies import RecalledMemory
from memshare.client.rest.calls.journeys import BriefJourney
from memshare.client.rest.calls.memories import FoundMemory
from memshare.doors.pages.visit import PAGES, Done, Screen, Visit
from memshare.extras import NeedsExtra
from memshare.operations.forms import SearchForm
from memshare.operations.journeys import MOST, journeys
from memshare.operations.listings import pools, stats
from memshare.operations.retrievers import retrievers, rollback
from memshare.operations.search import search
from memshare.operations.sharing import recall
from memshare_broker.errors import BadInput

HERE = "/worth"
COMPARED = 5  # memories of a query
GROUP = 20  # graded tasks, whose mean is a point of the line
ShownWhat = Literal["with", "withheld", "without"]
SHOWN_WHAT: dict[ShownWhat, str] = {"with": "With memories", "withheld": "One withheld", "without": "Without"}
"""Group of tasks, by the memories shown → the name of its column."""


@dataclass(frozen=True)
class Scores:
    """The scores of an agent's graded tasks of a kind, by what these were shown."""

    agent: str
    kind: str | None
    of: Mapping[ShownWhat, Sequence[float]]

    @property
    def difference(self) -> float | None:
        """By how many points the mean is higher with memories; chance did not decide who was shown some."""
        means = mean(self.of["with"]), mean(self.of["without"])
        return None if None in means else (means[0] or 0.0) - (means[1] or 0.0)


@dataclass(frozen=True)
class Dot:
    """A graded task in the chart: its place from left to right, 0 to 100, and what it was shown."""

    x: float
    score: float
    shown: ShownWhat


@dataclass(frozen=True)
class ComparedRankings:
    """Memories found for a query, as ranked by the encoder alone and as ranked by the retriever now."""

    before: Sequence[FoundMemory]
    after: Sequence[RecalledMemory]


@PAGES.screen(HERE)
def worth(visit: Visit) -> Screen:
    """All of it, of the latest journeys and of the caller's pools."""
    backend, caller = visit.backend, visit.caller
    graded = [one for one in journeys(backend, caller, limit=MOST).journeys if one.score is not None][::-1]
    try:
        learnt, missing = (retrievers(backend, caller) if caller.may("recall") else None), ""
    except NeedsExtra as error:
        learnt, missing = None, str(error)
    there = pools(backend, caller)
    counted = stats(backend, caller)
    return Screen(
        "worth",
        {
            "graded": graded,
            "dots": [*_dots(graded)],
            "what": SHOWN_WHAT,
            "line": _line(graded),
            "groups": _groups(graded),
            "lifts": counted.lift,
            "numbers": counted.numbers,
            "learnt": learnt,
            "missing": missing,
            "jobs": visit.jobs,
            "pools": there,
            "query": visit.field("query"),
            "pool": visit.field("pool"),
            "compared": _compared(visit),
        },
    )


@PAGES.action("/worth/{pool}/rollback")
def go_back(visit: Visit) -> Done:
    """Put another version of a retriever into use."""
    to = visit.field("to")
    if not to.isdecimal():
        raise BadInput(f"The version is {to!r}; give the number of one of the list.")
    done = rollback(visit.backend, visit.caller, visit.path["pool"], int(to))
    said = f"Version {done.version} is in use, before: {done.before}. Agents use it from their next task on."
    undo = f"/worth/{quote(visit.path['pool'], safe='')}/rollback?to={done.before}"
    return Done(HERE, said, undo)


def mean(scores: Sequence[float]) -> float | None:
    """The mean; None of nothing."""
    return sum(scores) / len(scores) if scores else None


def _dots(graded: Sequence[BriefJourney]) -> Iterator[Dot]:
    for at, one in enumerate(graded):
        yield Dot(100 * (at + 0.5) / len(graded), one.total, _shown(one))


def _shown(journey: BriefJourney) -> ShownWhat:
    return "withheld" if journey.withheld else "with" if journey.memories else "without"


def _groups(graded: Iterable[BriefJourney]) -> list[Scores]:
    found: defaultdict[tuple[str, str | None], dict[ShownWhat, list[float]]] = defaultdict(
        lambda: {name: [] for name in SHOWN_WHAT}
    )
    for one in graded:
        found[one.agent, one.kind][_shown(one)].append(one.total)
    ordered = sorted(found.items(), key=lambda pair: (pair[0][0], pair[0][1] or ""))
    return [Scores(agent, kind, scores) for (agent, kind), scores in ordered]


def _line(graded: Sequence[BriefJourney]) -> str:
    """The mean of each task and those before it, as the points of an SVG line; y grows downwards, 0 to 100."""
    points = []
    for end in range(GROUP, len(graded) + 1):
        scores = [one.total for one in graded[end - GROUP : end]]
        points.append(f"{100 * (end - 0.5) / len(graded):.2f},{100 - sum(scores) / GROUP:.2f}")
    return " ".join(points)


def _compared(visit: Visit) -> ComparedRankings | None:
    text, pool = visit.field("query"), visit.field("pool")
    if not text or not pool:
        return None
    found = search(visit.backend, visit.caller, SearchForm(text=text, pool=pool, k=COMPARED, status="active")).memories
    recalled = visit.ask("The recall", recall, prompt=text, pool=pool, k=COMPARED).memories
    return ComparedRankings(found, recalled)
