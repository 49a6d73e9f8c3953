"""Does it help: tasks with memories beside tasks without, of the same questions and of those that chance chose."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import ceil, sqrt
from statistics import NormalDist, fmean, stdev
from typing import NamedTuple

from pydantic import ValidationError

from memshare.client.pools import is_ever_graded
from memshare.client.replies import HelpReply, HelpWay
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller
from memshare.operations.journeys import sees_task
from memshare_broker.delivery.hops import ANSWER, SCORE
from memshare_broker.delivery.journey_records import recent
from memshare_broker.settings import OFFLINE
from memshare_broker.wire.messages import AgentTask
from memshare_memory.belief.lift import AT_RANDOM, NO_TASKS, NUMBERS, Side, Way, groups, together

LEAST = 10  # tasks on each side, below which no difference is told
RIGHT = 100.0  # the score of an answer that is right, where others have 0
OUTSIDE = 0.05  # share of the intervals that leave out the truth
Z = NormalDist().inv_cdf(1 - OUTSIDE / 2)


class Difference(NamedTuple):
    """How much higher with memories, and the ends of the 95 % interval, -100 to 100.

    Of right and wrong answers, which are grades of 100 and 0, it is the interval of Agresti and Caffo (The American
    Statistician 54, 2000), and of the same questions that of Bonett and Price (Journal of Educational and Behavioral
    Statistics 37, 2012): both count an answer more of each sort, so that a few that agree are not certain. Of scores it
    is Welch's, and of the same questions Student's.
    """

    points: float
    low: float
    high: float

    @classmethod
    def about(cls, points: float, middle: float, reach: float) -> Difference:
        """The difference with the interval about a middle."""
        return cls(points, max(middle - reach, -RIGHT), min(middle + reach, RIGHT))


def is_right_or_wrong(*sides: Side) -> bool:
    """True if every score is 0 or 100: no other has a square of 100 times itself."""
    return all(abs(side.squares - RIGHT * side.total) < 1e-6 * (1 + side.squares) for side in sides)


def of_groups(shown: Side, without: Side, z: float = Z) -> Difference | None:
    """The difference of tasks that chance divided; None below ten on a side. `z` is how wide its interval is."""
    if min(shown.tasks, without.tasks) < LEAST:
        return None
    points = shown.mean - without.mean
    if is_right_or_wrong(shown, without):
        more, fewer = ((side.total / RIGHT + 1) / (side.tasks + 2) for side in (shown, without))
        error = sqrt(more * (1 - more) / (shown.tasks + 2) + fewer * (1 - fewer) / (without.tasks + 2))
        return Difference.about(points, RIGHT * (more - fewer), RIGHT * z * error)
    one, other = shown.squared_error, without.squared_error
    terms = one**2 / (shown.tasks - 1) + other**2 / (without.tasks - 1)
    return Difference.about(points, points, student((one + other) ** 2 / terms, z) * sqrt(one + other) if terms else 0)


def of_pairs(pairs: Sequence[tuple[float, float]], z: float = Z) -> Difference | None:
    """The difference of the same questions, each with its score without memories and with some; None below ten."""
    if len(pairs) < LEAST:
        return None
    steps, count = [after - before for before, after in pairs], len(pairs) + 2
    if {score for pair in pairs for score in pair} <= {0.0, RIGHT}:
        won, lost = ((steps.count(step) + 1) / count for step in (RIGHT, -RIGHT))
        error = sqrt((won + lost - (won - lost) ** 2) / count)
        return Difference.about(fmean(steps), RIGHT * (won - lost), RIGHT * z * error)
    return Difference.about(fmean(steps), fmean(steps), student(len(steps) - 1, z) * stdev(steps) / sqrt(len(steps)))


def student(freedom: float, z: float = Z) -> float:
    """Student's t for a normal `z`, by its expansion (Abramowitz and Stegun 26.7.5): right to .01 from 9 on."""
    terms = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96, (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + sum(term / freedom**power for power, term in enumerate(terms, 1))


DAY = 86_400.0  # seconds
READ = 100  # journeys that are read in one step

Group = tuple[str | None, str | None, str | None]
"""Agent, kind and model; none for all together."""
ALL: Group = (None, None, None)
Measure = Callable[[float], Difference | None]
"""The difference with an interval so many standard errors wide on each side."""


class GradedAnswer(NamedTuple):
    """An agent's task, its score of 0 to 100 once it has one, and when it was submitted as Unix time in seconds."""

    task: AgentTask
    group: Group
    score: float | None
    at: float


def helps(backend: Backend, caller: Caller, pools: Iterable[str]) -> tuple[HelpReply, ...]:
    """Differences of tasks of these pools: all together in each way, then by agent, kind and model.

    The same questions are those among the last thousand journeys that the caller may see.
    """
    withhold = backend.settings.withhold
    with backend.reaching():
        counted = [one for pool in pools for one in groups(backend.redis, pool)]
        tasks, needs = _tasks(backend, caller), _needs(backend)
    asked = {(*one.group[:2], one.task.text) for one in tasks if one.task.memories == 0 and not one.task.remember}
    found: list[tuple[HelpReply, Measure]] = []
    for group, pairs in _paired(tasks).items():
        without, shown = (together(Side(1, one, one**2) for one in scores) for scores in zip(*pairs, strict=True))
        measure: Measure = partial(of_pairs, pairs)
        reply = _reply("same questions", group, shown, without, measure(Z))
        found.append((reply if group != ALL else reply.model_copy(update={"asked": len(asked)}), measure))
    # What it takes is told before anything was counted.
    sides: defaultdict[tuple[Way, Group], list[tuple[Side, Side]]] = defaultdict(list)
    sides |= {("all withheld", ALL): []} if withhold else {}
    for (way, agent, kind, model), shown, without in counted:
        for group in (ALL, (agent, kind or None, model or None)):
            sides[way, group].append((shown, without))
    chances = {"all withheld": AT_RANDOM / len(NUMBERS) if withhold else 0, "one withheld": withhold}
    began, graded = time.time() - DAY, [one for one in tasks if one.score is not None]
    is_a_day = any(one.at <= began for one in graded)
    a_day = Counter(group for one in graded if one.task.remember and one.at > began for group in (ALL, one.group))
    for (way, group), pair in sides.items():
        shown, without = (together(of) for of in zip((NO_TASKS, NO_TASKS), *pair, strict=True))
        measure = partial(of_groups, shown, without)
        reply = _reply(way, group, shown, without, measure(Z))
        if needs and not shown.tasks + without.tasks:
            reply = reply.model_copy(update={"needs": needs})
        elif reply.difference is None and (chance := chances.get(way)):
            more = ceil(max(LEAST - shown.tasks, (LEAST - without.tasks) / chance))
            days = more / a_day[group] if is_a_day and a_day[group] else None
            reply = reply.model_copy(update={"more": more, "days": days})
        found.append((reply, measure))
    return tuple(sorted(_of_many(found), key=lambda one: one.agent is not None))


def _of_many(found: Sequence[tuple[HelpReply, Measure]]) -> list[HelpReply]:
    """Give each difference of an agent the interval by which all of them are right in 95 of 100 cases (Bonferroni)."""
    of_agents = [bool(one.agent) and one.way != "one withheld" and one.difference is not None for one, _ in found]
    z = NormalDist().inv_cdf(1 - OUTSIDE / 2 / max(sum(of_agents), 1))
    wide = [measure(z) if is_one else None for (_, measure), is_one in zip(found, of_agents, strict=True)]
    return [one.model_copy(update={"of_many": of and of[1:]}) for (one, _), of in zip(found, wide, strict=True)]


def _reply(way: HelpWay, group: Group, shown: Side, without: Side, difference: Difference | None) -> HelpReply:
    agent, kind, model = group
    points, low, high = difference or (None, None, None)
    return HelpReply(
        way=way, agent=agent, kind=kind, model=model, difference=points, low=low, high=high,
        unit="right" if is_right_or_wrong(shown, without) else "points",
        tasks=int(shown.tasks), mean=shown.mean if shown.tasks else None,
        tasks_without=int(without.tasks), mean_without=without.mean if without.tasks else None,
    )  # fmt: skip


def _needs(backend: Backend) -> str | None:
    """Name what chance lacks to withhold anything from a task that is graded; None where nothing is missing."""
    workers = backend.client.workers()
    if not is_ever_graded(backend.client, workers):
        return "a model, or a rubric that a program checks"
    models = {card.model for worker in workers for card in worker.agents}
    return "a model that answers" if models == {OFFLINE} else None


def _tasks(backend: Backend, caller: Caller) -> list[GradedAnswer]:
    """The latest first."""
    latest, found = recent(backend.redis), []
    for start in range(0, len(latest), READ):
        for records in backend.client.ledger.records(latest[start : start + READ]):
            entry, answer, score = (records.get(name) or {} for name in ("task", ANSWER.name, SCORE.name))
            if entry.get("stage") != ANSWER.name:
                continue
            try:
                task, agent = AgentTask.model_validate(entry["body"]), entry["queue"]
            except ValidationError:  # no task: it was given up
                continue
            if sees_task(caller, backend.pool_of(agent, task.submitter), task.submitter):
                group, total = (agent, task.kind, answer.get("model")), score.get("total") if answer else None
                found.append(GradedAnswer(task, group, total, records["submitted"]))
    return found


def _paired(tasks: Iterable[GradedAnswer]) -> dict[Group, list[tuple[float, float]]]:
    """The last scores of each question without memories and with some, where neither was to be remembered."""
    last: defaultdict[tuple[Group, str], dict[bool, float]] = defaultdict(dict)
    for one in tasks:
        if one.score is not None and not one.task.remember:
            last[one.group, one.task.text].setdefault(one.task.memories == 0, one.score)
    pairs: defaultdict[Group, list[tuple[float, float]]] = defaultdict(list)
    for (group, _), scores in last.items():
        for of in (ALL, group) if len(scores) == 2 else ():
            pairs[of].append((scores[True], scores[False]))
    return pairs
