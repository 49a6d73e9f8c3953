"""Does it help: tasks with memories beside tasks without, of the same questions and of those that chance chose."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from math import ceil
from statistics import NormalDist
from typing import Any, Literal, NamedTuple, get_args

from pydantic import ValidationError

from memshare.client.help_replies import STUDENT, HelpReply, HelpWay
from memshare.client.pools import is_ever_graded
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller
from memshare.operations.difference import (
    LEAST,
    OUTSIDE,
    RIGHT,
    Difference,
    Z,
    is_right_or_wrong,
    of_groups,
    of_pairs,
    standardised,
)
from memshare.operations.journeys import sees_task
from memshare_broker.delivery.hops import ANSWER, SCORE
from memshare_broker.delivery.journey_records import recent, unremembered
from memshare_broker.presence import Presence
from memshare_broker.settings import OFFLINE
from memshare_broker.wire.messages import AgentTask
from memshare_memory.belief.lift import (
    AT_RANDOM,
    BEGIN_AFTER,
    NO_TASKS,
    NUMBERS,
    CountedTasks,
    Side,
    Way,
    groups,
    sums_of,
    together,
    usual_in,
    without_grade,
)

FEW = 0.05  # by which the shares that have no grade may differ on two sides
ROUNDING = 1e-9
SAME_WORDS = 0.9999  # cosine of a text and itself, but for rounding
DAY = 86_400.0  # seconds
STAND_INS = {STUDENT, OFFLINE}  # which answer from memories alone: no models of one's own
READ = 100  # journeys that are read in one step

Group = tuple[str | None, str | None, str | None]
"""Agent, kind and model; none for all together."""
ALL: Group = (None, None, None)
Measure = Callable[[float], Difference | None]
"""The difference with an interval so many standard errors wide on each side."""
Row = tuple[HelpReply, Measure]


class GradedAnswer(NamedTuple):
    """An agent's task, its score of 0 to 100 once it has one, and when it was submitted as Unix time in seconds.

    `is_tried` is true if chance might have withheld memories of the `found`; `is_shown` if it was shown any, or no
    answer says it, and `is_there` if one of these has the task's own words. Without a score, `is_ended` is true if none
    is to come. `versions` are those of the rubric and of
    the instructions, as far as they are known.
    """

    task: AgentTask
    group: Group
    score: float | None
    at: float
    is_tried: bool
    found: int
    is_shown: bool
    is_ended: bool
    is_there: bool
    versions: tuple[str | None, str | None]


Reason = Literal["", "shown_none", "changed"]


class AskedTwice(NamedTuple):
    """A question with its last scores without memories and with some; None where that side ended without a grade.

    `left_out` says why it does not count: it was shown no memory, or rubric or instructions changed between the sides.
    `is_there` is true if the pool had it, word for word.
    """

    text: str
    before: float | None
    after: float | None
    left_out: Reason
    is_there: bool = False


@dataclass(frozen=True)
class Seen:
    """Material of all differences: tasks, the latest first, sums that count for good, and what is set up now."""

    tasks: Sequence[GradedAnswer]
    counted: Sequence[CountedTasks]
    no_grade: Sequence[CountedTasks]
    left_out: Set[str | None]
    withhold: float
    fixed: dict[str, int]  # agents that answered, and whose files say how many memories are shown
    needs: str | None
    begun: dict[str, int]

    def groups_of(self, group: Group) -> tuple[Group, ...]:
        """The groups in which a task counts."""
        return (group,) if group[2] in self.left_out else (ALL, group)


def helps(backend: Backend, caller: Caller, pools: Iterable[str]) -> tuple[HelpReply, ...]:
    """Differences of tasks of these pools: all together in each way, then by agent, kind and model.

    The same questions are those that the caller may see among each agent's last 2,000 graded tasks of which nothing is
    remembered, as long as their journeys are kept.
    """
    with backend.reaching():
        seen = _seen(backend, caller, {*pools})
    out = tuple(sorted(map(str, seen.left_out)))
    found = [*_same_questions(seen), *(row for way in sorted(get_args(Way)) for row in _by_chance(seen, way))]
    found = [(one if one.agent else one.model_copy(update={"left_out": out}), measure) for one, measure in found]
    return tuple(sorted(_of_many(found), key=lambda one: (one.agent or "", one.kind or "", one.model or "")))


def _seen(backend: Backend, caller: Caller, pools: Set[str]) -> Seen:
    client, tasks, workers = backend.redis, _tasks(backend, caller), backend.client.workers()
    counted, no_grade = ([one for pool in pools for one in read(client, pool)] for read in (groups, without_grade))
    graded = {one.group for one in tasks if one.score is not None}
    models = {model for *_, model in graded} | {of.model or None for of, *_ in counted}
    left_out = models & STAND_INS if models - STAND_INS - {None} else set[str | None]()
    cards = [card for worker in workers for card in worker.agents]
    answered = {agent for agent, *_ in graded} | {of.agent for of, *_ in counted}
    always = {one.pool for one in cards} - {one.pool for one in cards if one.memories is None}
    return Seen(
        tasks, counted, no_grade, left_out, backend.settings.withhold,
        fixed={one.name: one.memories for one in cards if one.memories is not None and one.name in answered},
        needs=_needs(backend, workers, {agent for agent, *_ in graded}),
        begun=usual_in(client, pools - always, left_out),
    )  # fmt: skip


def _same_questions(seen: Seen) -> Iterator[Row]:
    pairs = _paired(seen.tasks)
    unpaired = _unpaired(one for one in seen.tasks if ALL in seen.groups_of(one.group))

    def row(group: Group, of: Sequence[Group]) -> Row:
        every = [pairs[name] for name in (*of, *([ALL] if group == ALL else []))]
        strata = [[one for one in asked_twice if not one.left_out] for asked_twice in every]
        some = [one for stratum in strata for one in stratum]
        both = [(one.text, (one.before, one.after)) for one in some if one.before is not None is not one.after]
        scores = [of_both for _, of_both in both]
        without, shown = (together(Side(1, one[at], one[at] ** 2) for one in scores) for at in (0, 1))
        measure: Measure = partial(of_pairs, scores, clusters=[text for text, _ in both])
        difference = measure(Z)
        more = _without_grade(
            [[(sum(one[at] is None for one in stratum), len(stratum)) for at in (2, 1)] for stratum in strata],
            difference,
        )
        more |= {"no_grade": len(some) - len(both), "there": sum(one.is_there for one in some)}
        more |= Counter(one.left_out for asked_twice in every for one in asked_twice if one.left_out)
        more |= {"missing": max(LEAST - len({text for text, _ in both}), 0)}
        if group == ALL or is_alone:
            more |= unpaired
        return _reply("same questions", group, shown, without, difference, more), measure

    own = [group for group in pairs if group != ALL]
    is_alone = len(own) == 1 and not seen.left_out
    return _with_all(seen, own, row, is_told=ALL in pairs or bool(unpaired))


def _by_chance(seen: Seen, way: Way) -> Iterator[Row]:
    counted, no_grade = (_strata(way, of) for of in (seen.counted, seen.no_grade))
    is_told = bool(seen.withhold) and way == "all withheld"  # what it takes is told before anything was counted

    def row(group: Group, of: Sequence[Group]) -> Row:
        every = [counted[name] for name in of]
        compared = [sides for sides in every if all(side.tasks for side in sides)]
        measure = partial(of_groups, compared)
        difference, (shown, without) = measure(Z), sums_of(every)
        both = [zip(counted[name], no_grade[name], strict=True) for name in of]
        more = _without_grade(
            [[(one.tasks, one.tasks + side.tasks) for side, one in sides] for sides in both], difference
        )
        more |= {"begun": seen.begun, "fixed": seen.fixed} if is_told and group == ALL else {}
        if difference:
            shown, without = sums_of(compared)
            more |= zip(("mean", "mean_without"), (side.mean for side in standardised(compared)), strict=True)
        elif seen.needs and not shown.tasks + without.tasks:
            more |= {"needs": seen.needs}
        else:
            more |= _missing(seen, way, of, *sums_of(compared))
        return _reply(way, group, shown, without, difference, more), measure

    return _with_all(seen, {**no_grade, **counted}, row, is_told=is_told)


def _with_all(
    seen: Seen, groups: Iterable[Group], row: Callable[[Group, Sequence[Group]], Row], *, is_told: bool
) -> Iterator[Row]:
    """The row of each group, and that of all together, of which those stay out that are no fair comparison.

    Where none is fair, all of them are no fair comparison. Without a group there is a row of all where it `is_told`.
    """
    rows = {group: row(group, [group]) for group in groups}
    own = [group for group in rows if ALL in seen.groups_of(group)]
    fair = [group for group in own if rows[group][0].is_fair]
    if own or is_told:
        every, measure = row(ALL, fair or own)
        unfair = {"/".join(filter(None, one)): rows[one][0].in_all for one in own if fair and one not in fair}
        more = {"unfair": unfair, "is_fair": every.is_fair and len(fair) >= min(len(own), 1)}
        yield every.model_copy(update=more), measure
    yield from rows.values()


def _strata(way: Way, counted: Iterable[CountedTasks]) -> defaultdict[Group, tuple[Side, Side]]:
    """Both sides of each agent, kind and model, over all pools."""
    strata: defaultdict[Group, tuple[Side, Side]] = defaultdict(lambda: (NO_TASKS, NO_TASKS))
    for (of, agent, kind, model), *sides in counted:
        if of == way:
            group = (agent, kind or None, model or None)
            strata[group] = sums_of([strata[group], (sides[0], sides[1])])
    return strata


def _missing(seen: Seen, way: Way, of: Sequence[Group], shown: Side, without: Side) -> dict[str, Any]:
    """How many tasks are missing on the smaller side; how many tasks and days they take, at the last day's rate.

    Rates are those of tasks of these groups, or where there is none of all tasks.
    """
    missing, of_all = {"missing": ceil(LEAST - min(shown.tasks, without.tasks))}, AT_RANDOM / len(NUMBERS)
    is_all = way == "all withheld"
    rates = (AT_RANDOM - of_all, of_all) if is_all else (1 - seen.withhold, seen.withhold)
    lacking = [(LEAST - side.tasks, of) for side, of in zip((shown, without), rates, strict=True) if side.tasks < LEAST]
    if not (seen.withhold and all(rate for _, rate in lacking)):
        return missing
    began, graded = time.time() - DAY, [one for one in seen.tasks if one.score is not None]
    tried = [one for one in graded if one.is_tried and (one.group in of if of else ALL in seen.groups_of(one.group))]
    latest, share = [one for one in tried if one.at > began], 1.0
    if is_all:
        latest = [one for one in latest if one.group[0] not in seen.fixed]
    else:  # those of which another number was found do not count
        count = sum(one.found > 1 if way == "one withheld" else one.found == 1 for one in tried)
        share = (count + 1) / (len(tried) + 1)
    more = ceil(max(tasks / rate for tasks, rate in lacking) / share)
    has_begun = not is_all or shown.tasks > 0 or max(seen.begun.values(), default=0) >= BEGIN_AFTER
    is_known = has_begun and latest and any(one.at <= began for one in graded)
    return {**missing, "more": more, "days": more / len(latest) if is_known else None}


def _of_many(found: Sequence[Row]) -> list[HelpReply]:
    """Give each difference of an agent the interval by which all of them are right in 95 of 100 cases (Bonferroni)."""
    told = [one.difference is not None and one.is_fair and one.way != "one withheld" for one, _ in found]
    of_agents = [bool(one.agent) and is_told for (one, _), is_told in zip(found, told, strict=True)]
    z = NormalDist().inv_cdf(1 - OUTSIDE / 2 / max(sum(of_agents), 1))
    wide = [measure(z) if is_one else None for (_, measure), is_one in zip(found, of_agents, strict=True)]
    return [one.model_copy(update={"of_many": of and of[1:]}) for (one, _), of in zip(found, wide, strict=True)]


def _reply(
    way: HelpWay, group: Group, shown: Side, without: Side, difference: Difference | None, more: Mapping[str, Any]
) -> HelpReply:
    agent, kind, model = group
    points, low, high = difference or (None, None, None)
    found = {
        "way": way, "agent": agent, "kind": kind, "model": model, "difference": points, "low": low, "high": high,
        "unit": "right" if is_right_or_wrong(shown, without) else "points",
        "tasks": int(shown.tasks), "mean": shown.mean if shown.tasks else None,
        "tasks_without": int(without.tasks), "mean_without": without.mean if without.tasks else None,
    }  # fmt: skip
    return HelpReply.model_validate(found | {**more})


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
    latest, found = [*{*recent(backend.redis), *unremembered(backend.redis)}], []
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
                        task, group, total, records["submitted"], is_tried, count,
                        is_shown=not answer or bool(answer.get("memories")), is_ended=is_ended,
                        is_there=any(one["similarity"] > SAME_WORDS for one in answer.get("memories") or ()),
                        versions=(score.get("rubric_version"), answer.get("instructions_version")),
                    )
                )  # fmt: skip
    return sorted(found, key=lambda one: one.at, reverse=True)


def _paired(tasks: Iterable[GradedAnswer]) -> dict[Group, list[AskedTwice]]:
    """Each unremembered question of which both sides have ended; what nobody answered stands beside every model's.

    Of each side the last with a grade counts. Where no model answered either side, it is among `ALL` alone.
    """
    last: defaultdict[tuple[Group, str], dict[bool | None, GradedAnswer]] = defaultdict(dict)
    for one in tasks:
        if not one.task.remember and (one.is_ended or one.score is not None):
            sides, side = last[one.group, one.task.text], None if one.task.memories == 0 else one.is_shown
            sides[side] = one if side not in sides or sides[side].score is None else sides[side]
    answered = {(*group[:2], text) for group, text in last if group[2]}
    pairs: defaultdict[Group, list[AskedTwice]] = defaultdict(list)
    for (group, text), own in last.items():
        sides, of_nobody = {**last.get(((*group[:2], None), text), {}), **own}, group[2] is None
        if None not in sides or len(sides) < 2 or (of_nobody and (*group[:2], text) in answered):
            continue
        before, after = sides[None], sides.get(True, sides[None])
        versions = [{one, other} - {None, ""} for one, other in zip(before.versions, after.versions, strict=True)]
        why: Reason = "shown_none" if True not in sides else "changed" if max(map(len, versions)) > 1 else ""
        pairs[ALL if of_nobody else group].append(AskedTwice(text, before.score, after.score, why, after.is_there))
    return pairs


def _unpaired(tasks: Iterable[GradedAnswer]) -> Counter[str]:
    """How many questions, asked with a number of memories, have no two answers to compare, by why."""
    asked: defaultdict[tuple[str | None, ...], tuple[set[str | None], set[str | None]]]
    asked, found, given = defaultdict(lambda: (set(), set())), Counter[str](), set[tuple[str | None, ...]]()
    question: tuple[str | None, ...]
    for one in tasks:
        if not one.task.remember:
            question = (*one.group[:2], one.task.text)
            given |= {question} if one.task.memories is not None else set()
            model = one.group[2] if one.is_ended or one.score is not None else ""
            asked[question][one.task.memories != 0].add(model)
    for question in given:
        sides = asked[question]
        without, shown = (side - {""} for side in sides)
        if without and shown and (without & shown or None in without | shown):
            continue
        found["waiting" if "" in sides[0] | sides[1] else "other_model" if without and shown else "alone"] += 1
    return found


def _without_grade(strata: Iterable[Sequence[tuple[float, float]]], difference: Difference | None) -> dict[str, Any]:
    """How many have no grade, with memories and without; `strata` have that of how many, on both sides of each.

    It is no fair comparison where their shares, each stratum's beside its own, differ by two standard errors, and by
    more than FEW or than what lies between 0 and the interval: those that cannot be graded may be the wrong ones.
    """
    sides = [(Side(of, one, one), Side(of_other, other, other)) for (one, of), (other, of_other) in strata]
    (shown, without), compared = sums_of(sides), [both for both in sides if all(side.tasks for side in both)]
    found = {"no_grade": shown.total + without.total, "no_grade_shown": shown.total, "no_grade_without": without.total}
    if not compared:
        return found
    one, other = standardised(compared)
    apart, variance = one.mean - other.mean, together((one, other)).mean * (1 / one.tasks + 1 / other.tasks)
    sure = max(difference.low, -difference.high) / RIGHT if difference else 0
    is_fair = abs(apart) <= min(FEW, sure if sure > 0 else FEW) or apart**2 < 4 * variance * (1 - ROUNDING)
    return found | {"is_fair": is_fair}
