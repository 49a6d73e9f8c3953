"""Does it help: tasks with memories beside tasks without, of the same questions and of those that chance chose."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence, Set
from functools import partial
from math import ceil, sqrt
from statistics import NormalDist, fmean
from typing import NamedTuple

from pydantic import ValidationError

from memshare.client.pools import is_ever_graded
from memshare.client.replies import STUDENT, HelpReply, HelpWay
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller
from memshare.operations.journeys import sees_task
from memshare_broker.delivery.hops import ANSWER, SCORE
from memshare_broker.delivery.journey_records import UNREMEMBERED, recent
from memshare_broker.presence import Presence
from memshare_broker.settings import OFFLINE
from memshare_broker.wire.messages import AgentTask
from memshare_memory.belief.lift import (
    AT_RANDOM,
    BEGIN_AFTER,
    NO_TASKS,
    NUMBERS,
    Side,
    Way,
    groups,
    most_usual,
    squared_errors,
    together,
)

LEAST = 10  # tasks on each side, below which no difference is told
RIGHT = 100.0  # the score of an answer that is right, where others have 0
OUTSIDE = 0.05  # share of the intervals that leave out the truth
FEW = 0.05  # share of the questions by which two sides may differ in what has no grade
ALIKE = 1e-9  # the most variance of a mean of scores that differ by rounding alone
Z = NormalDist().inv_cdf(1 - OUTSIDE / 2)


class Difference(NamedTuple):
    """How much higher with memories, and the ends of the 95 % interval, -100 to 100.

    Of right and wrong answers, which are grades of 100 and 0, it is the interval of Agresti and Caffo (The American
    Statistician 54, 2000), and of the same questions that of Bonett and Price (Journal of Educational and Behavioral
    Statistics 37, 2012): both count an answer more of each sort, so that a few that agree are not certain. Of scores it
    is Welch's, where neither side has less spread, or then fewer degrees of freedom, than both together. Where they
    spread as far as their mean lies from an end of the scale, as right and wrong answers do, or not at all, it also
    holds that of Agresti and Caffo in which the answers more have the two scores that would alone make this mean and
    spread, one of them that end: where nearly all are there, a few say little of how far the others are from it. Of the
    same questions, a step more up and one more down are as large as the largest. Pairs of one cluster, such as a form
    of questions, count together (Liang and Zeger, Biometrika 73, 1986).
    """

    points: float
    low: float
    high: float


def is_right_or_wrong(*sides: Side) -> bool:
    """True if every score is 0 or 100: no other has a square of 100 times itself."""
    return all(abs(side.squares - RIGHT * side.total) < 1e-6 * (1 + side.squares) for side in sides)


def standardised(strata: Sequence[tuple[Side, Side]]) -> tuple[Side, Side]:
    """Both sides as if chance had divided each group of tasks alike: no mix of groups makes a difference of the means.

    A group of n₁ and n₂ tasks, each one or more, weighs n₁n₂ / (n₁ + n₂) (Mantel and Haenszel, Journal of the National
    Cancer Institute 22, 1959). A side has as many tasks as are as exact where each weighs the same, and the spread
    within groups, of which each but the first takes a degree of freedom.
    """
    weights = [one.tasks * other.tasks / (one.tasks + other.tasks) for one, other in strata]
    shares, levels = [one / sum(weights) for one in weights], [together(both).mean for both in strata]
    tasks = sum(side.tasks for both in strata for side in both)

    def weighed(sides: Sequence[Side]) -> Side:
        count = 1 / sum(share**2 / of.tasks for of, share in zip(sides, shares, strict=True))
        mean = sum(share * of.mean for of, share in zip(sides, shares, strict=True))
        parts = zip(sides, shares, levels, strict=True)
        about = sum(share * (of.squares / of.tasks - 2 * level * of.mean + level**2) for of, share, level in parts)
        above = mean - sum(share * level for share, level in zip(shares, levels, strict=True))
        return Side(count, count * mean, count * (mean**2 + (about - above**2) * tasks / (tasks - len(strata) + 1)))

    shown, without = zip(*strata, strict=True)
    return weighed(shown), weighed(without)


def of_groups(strata: Sequence[tuple[Side, Side]], z: float = Z) -> Difference | None:
    """The difference of tasks that chance divided within groups; None below ten on a side. `z` is its width."""
    every = _sums(strata)
    if min(side.tasks for side in every) < LEAST:
        return None
    shown, without = standardised(strata)
    points, errors, both = shown.mean - without.mean, squared_errors(shown, without), together(every)
    ends, is_alike = [points], sum(errors) < ALIKE
    near, spread = min(both.mean, RIGHT - both.mean), max(both.squares / both.tasks - both.mean**2, 0.0)
    if spread >= near**2 or is_alike:
        apart = min(near + spread / near, RIGHT) if near else RIGHT
        added = apart / 2 if both.mean < RIGHT / 2 else RIGHT - apart / 2  # the mean of the two answers more
        more, fewer = ((side.total + 2 * added) / (side.tasks + 2) for side in (shown, without))
        of = [(side.tasks, side.tasks * (side.tasks - 1) * side.squared_error, side.mean) for side in (shown, without)]
        sums = [(of_n + apart**2 / 2 + 2 * n * (mean - added) ** 2 / (n + 2)) / (n + 2) ** 2 for n, of_n, mean in of]
        ends += [more - fewer - z * sqrt(sum(sums)), more - fewer + z * sqrt(sum(sums))]
    if not (is_alike or is_right_or_wrong(*every)):
        freedom, of_sides = shown.tasks + without.tasks - 2, zip(errors, (shown, without), strict=True)
        terms = sum(one**2 / (side.tasks - 1 if one == side.squared_error else freedom) for one, side in of_sides)
        reach = student(sum(errors) ** 2 / terms, z) * sqrt(sum(errors))
        ends += [points - reach, points + reach]
    return Difference(points, max(min(ends), -RIGHT), min(max(ends), RIGHT))


def of_pairs(
    pairs: Sequence[tuple[float, float]], z: float = Z, clusters: Sequence[Hashable] = ()
) -> Difference | None:
    """The difference of the same questions, each with its score without memories and with some.

    None below ten, of questions or of the `clusters` that these are in, if there are any.
    """
    steps, names = [after - before for before, after in pairs], clusters or range(len(pairs))
    if len(set(names)) < LEAST:
        return None
    scores = [score for pair in pairs for score in pair]
    apart = max(map(abs, steps)) or max(scores) - min(scores) or RIGHT
    added = apart, -apart
    count, middle = len(steps) + 2, sum(steps) / (len(steps) + 2)
    sums: defaultdict[Hashable, float] = defaultdict(float)
    for name, step in zip((*names, *(object() for _ in added)), (*steps, *added), strict=True):
        sums[name] += step - middle
    if len(sums) < count:
        z = student(len(sums) - 1, z) * sqrt(len(sums) / (len(sums) - 1))
    reach = z * sqrt(sum(one**2 for one in sums.values())) / count
    return Difference(fmean(steps), max(middle - reach, -RIGHT), min(middle + reach, RIGHT))


def student(freedom: float, z: float = Z) -> float:
    """Student's t for a normal `z`, by its expansion (Abramowitz and Stegun 26.7.5): right to .01 from 9 on."""
    terms = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96, (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + sum(term / freedom**power for power, term in enumerate(terms, 1))


DAY = 86_400.0  # seconds
STAND_INS = {STUDENT, OFFLINE}  # which answer from memories alone: no models of one's own
READ = 100  # journeys that are read in one step

Group = tuple[str | None, str | None, str | None]
"""Agent, kind and model; none for all together."""
ALL: Group = (None, None, None)
Measure = Callable[[float], Difference | None]
"""The difference with an interval so many standard errors wide on each side."""


class GradedAnswer(NamedTuple):
    """An agent's task, its score of 0 to 100 once it has one, and when it was submitted as Unix time in seconds.

    `is_tried` is true if chance might have withheld all of its memories, `is_one_tried` one of several; `is_shown` if
    it was shown any, or no answer says it. Without a score, `is_ended` is true if none is to come.
    """

    task: AgentTask
    group: Group
    score: float | None
    at: float
    is_tried: bool
    is_one_tried: bool
    is_shown: bool
    is_ended: bool


class AskedTwice(NamedTuple):
    """A question with its last scores without memories and with some; None where that side ended without a grade."""

    text: str
    before: float | None
    after: float | None
    is_shown: bool


def helps(backend: Backend, caller: Caller, pools: Iterable[str]) -> tuple[HelpReply, ...]:
    """Differences of tasks of these pools: all together in each way, then by agent, kind and model.

    The same questions are those that the caller may see among the last thousand graded tasks of which nothing is
    remembered, as long as their journeys are kept.
    """
    withhold, pools = backend.settings.withhold, {*pools}
    with backend.reaching():
        counted = [one for pool in pools for one in groups(backend.redis, pool)]
        tasks = _tasks(backend, caller)
        graded = [one for one in tasks if one.score is not None]
        workers = backend.client.workers()
        needs = _needs(backend, workers, {one.group[0] for one in graded})
    models = {one.group[2] for one in graded} | {of.model or None for of, *_ in counted}
    left_out = models & STAND_INS if models - STAND_INS - {None} else set()

    def groups_of(group: Group) -> tuple[Group, ...]:
        return (group,) if group[2] in left_out else (ALL, group)

    without_any = [one for one in tasks if one.task.memories == 0 and not one.task.remember]
    asked = {(*one.group[:2], one.task.text) for one in without_any if one.group[2] not in left_out}
    found: list[tuple[HelpReply, Measure]] = []
    for group, asked_twice in _paired(tasks, groups_of).items():
        some = [one for one in asked_twice if one.is_shown]
        pairs = [(one.text, (one.before, one.after)) for one in some if one.before is not None is not one.after]
        scores = [both for _, both in pairs]
        without, shown = (together(Side(1, one[at], one[at] ** 2) for one in scores) for at in (0, 1))
        measure: Measure = partial(of_pairs, scores, clusters=[text for text, _ in pairs])
        reply = _reply("same questions", group, shown, without, measure(Z))
        missing = max(LEAST - len({text for text, _ in pairs}), 0)
        update = {"shown_none": len(asked_twice) - len(some), "missing": missing, **_ungraded(some)}
        reply = reply.model_copy(update=update)
        found.append((reply if group != ALL else reply.model_copy(update={"asked": len(asked)}), measure))
    sums: defaultdict[tuple[Way, Group], tuple[Side, Side]] = defaultdict(lambda: (NO_TASKS, NO_TASKS))
    for (way, agent, kind, model), shown, without in counted:
        one = way, (agent, kind or None, model or None)
        sums[one] = _sums((sums[one], (shown, without)))
    strata: defaultdict[tuple[Way, Group], list[tuple[Side, Side]]] = defaultdict(list)
    strata |= {("all withheld", ALL): []} if withhold else {}  # what it takes is told before anything was counted
    for (way, of), sides in sums.items():
        for group in groups_of(of):
            strata[way, group].append(sides)
    chances = {"all withheld": AT_RANDOM / len(NUMBERS) if withhold else 0, "one withheld": withhold}
    began = time.time() - DAY
    is_a_day = any(one.at <= began for one in graded)
    fixed = {card.name for worker in workers for card in worker.agents if card.memories is not None}
    latest = [one for one in graded if one.is_tried and one.at > began]
    counts = Counter((group, one.is_one_tried) for one in graded if one.is_tried for group in groups_of(one.group))
    a_day = Counter((group, one.group[0] in fixed) for one in latest for group in groups_of(one.group))
    for (way, group), every in strata.items():
        compared = [sides for sides in every if all(side.tasks for side in sides)]
        measure = partial(of_groups, compared)
        difference = measure(Z)
        shown, without = _sums(compared if difference else every)
        reply = _reply(way, group, shown, without, difference)
        if difference:
            mean, mean_without = (side.mean for side in standardised(compared))
            reply = reply.model_copy(update={"mean": mean, "mean_without": mean_without})
        elif needs and not shown.tasks + without.tasks:
            reply = reply.model_copy(update={"needs": needs})
        else:
            shown, without = _sums(compared)
            reply = reply.model_copy(update={"missing": ceil(LEAST - min(shown.tasks, without.tasks))})
            if chance := chances.get(way):
                if way == "one withheld":  # tasks that were shown none or one do not count
                    others, counting = (counts[group, is_one] for is_one in (False, True))
                    chance *= (counting + 1) / (others + counting + 1)
                more = ceil(max(LEAST - shown.tasks, (LEAST - without.tasks) / chance))
                rate = a_day[group, False] + (way == "one withheld") * a_day[group, True]
                reply = reply.model_copy(update={"more": more, "days": more / rate if is_a_day and rate else None})
                if way == "all withheld" and not every:
                    with backend.reaching():
                        begun = most_usual(backend.redis, pools, left_out)
                    if begun < BEGIN_AFTER:
                        reply = reply.model_copy(update={"begun": begun, "days": None})
        found.append((reply, measure))
    out = tuple(sorted(map(str, left_out)))
    found = [(one if one.agent else one.model_copy(update={"left_out": out}), measure) for one, measure in found]
    return tuple(sorted(_of_many(found), key=lambda one: (one.agent or "", one.kind or "", one.model or "")))


def _of_many(found: Sequence[tuple[HelpReply, Measure]]) -> list[HelpReply]:
    """Give each difference of an agent the interval by which all of them are right in 95 of 100 cases (Bonferroni)."""
    told = [one.difference is not None and one.is_fair and one.way != "one withheld" for one, _ in found]
    of_agents = [bool(one.agent) and is_told for (one, _), is_told in zip(found, told, strict=True)]
    z = NormalDist().inv_cdf(1 - OUTSIDE / 2 / max(sum(of_agents), 1))
    wide = [measure(z) if is_one else None for (_, measure), is_one in zip(found, of_agents, strict=True)]
    return [one.model_copy(update={"of_many": of and of[1:]}) for (one, _), of in zip(found, wide, strict=True)]


def _sums(strata: Sequence[tuple[Side, Side]]) -> tuple[Side, Side]:
    return together(shown for shown, _ in strata), together(without for _, without in strata)


def _reply(way: HelpWay, group: Group, shown: Side, without: Side, difference: Difference | None) -> HelpReply:
    agent, kind, model = group
    points, low, high = difference or (None, None, None)
    return HelpReply(
        way=way, agent=agent, kind=kind, model=model, difference=points, low=low, high=high,
        unit="right" if is_right_or_wrong(shown, without) else "points",
        tasks=int(shown.tasks), mean=shown.mean if shown.tasks else None,
        tasks_without=int(without.tasks), mean_without=without.mean if without.tasks else None,
    )  # fmt: skip


def _needs(backend: Backend, workers: Sequence[Presence], used: Set[str | None]) -> str | None:
    """Name what chance lacks to withhold anything from a graded task of these agents; None if nothing is missing."""
    if not is_ever_graded(backend.client, workers):
        return "a model, or a rubric that a program checks"
    cards = [card for worker in workers for card in worker.agents]
    if {card.model for card in cards} == {OFFLINE}:
        return "a model that answers"
    numbers = {card.memories for card in cards if card.name in used} or {None}
    return None if None in numbers else "the same questions asked twice, as files fix how many memories are shown"


def _tasks(backend: Backend, caller: Caller) -> list[GradedAnswer]:
    """The latest first."""
    latest, found = [*{*recent(backend.redis), *recent(backend.redis, of=UNREMEMBERED)}], []
    for start in range(0, len(latest), READ):
        for records in backend.client.ledger.records(latest[start : start + READ]):
            entry, answer, score = (records.get(name) or {} for name in ("task", ANSWER.name, SCORE.name))
            is_ended = "outcome" in score or answer.get("verified") is False or bool({"dead", "cancelled"} & {*records})
            if entry.get("stage") != ANSWER.name:
                continue
            try:
                task, agent = AgentTask.model_validate(entry["body"]), entry["queue"]
            except ValidationError:  # no task: it was given up
                continue
            if sees_task(caller, backend.pool_of(agent, task.submitter), task.submitter):
                group, total = (agent, task.kind, answer.get("model")), score.get("total") if answer else None
                is_tried = task.remember and task.memories is None and answer.get("verified") is None
                count = len(answer.get("memories") or ()) + bool(answer.get("withheld"))
                found.append(
                    GradedAnswer(
                        task, group, total, records["submitted"], is_tried, is_tried and count > 1,
                        is_shown=not answer or bool(answer.get("memories")), is_ended=is_ended,
                    )
                )  # fmt: skip
    return sorted(found, key=lambda one: one.at, reverse=True)


def _paired(
    tasks: Iterable[GradedAnswer], groups_of: Callable[[Group], Iterable[Group]]
) -> dict[Group, list[AskedTwice]]:
    """Each unremembered question of which both sides have ended; what nobody answered stands beside every model's."""
    last: defaultdict[tuple[Group, str], dict[bool | None, float | None]] = defaultdict(dict)
    for one in tasks:
        if not one.task.remember and (one.is_ended or one.score is not None):
            sides, side = last[one.group, one.task.text], None if one.task.memories == 0 else one.is_shown
            sides[side] = one.score if sides.get(side) is None else sides[side]
    answered = {(*group[:2], text) for group, text in last if group[2]}
    pairs: defaultdict[Group, list[AskedTwice]] = defaultdict(list)
    for (group, text), own in last.items():
        scores, of_nobody = {**last.get(((*group[:2], None), text), {}), **own}, group[2] is None
        if None not in scores or len(scores) < 2 or (of_nobody and (*group[:2], text) in answered):
            continue
        for of in (ALL,) if of_nobody else groups_of(group):
            pairs[of].append(AskedTwice(text, scores[None], scores.get(True), True in scores))
    return pairs


def _ungraded(asked: Sequence[AskedTwice]) -> dict[str, int | bool]:
    """How many questions have no grade on a side.

    It is no fair comparison where the sides differ in that by more than FEW of the questions, and by two standard
    errors: those that cannot be graded may be the wrong ones.
    """
    shown, without = sum(one.after is None for one in asked), sum(one.before is None for one in asked)
    apart, left_out = abs(shown - without), sum(None in (one.before, one.after) for one in asked)
    is_fair = apart <= FEW * len(asked) or apart**2 < 4 * (shown + without)
    return {"no_grade": left_out, "no_grade_shown": shown, "no_grade_without": without, "is_fair": is_fair}
