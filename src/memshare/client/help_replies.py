"""Replies about the difference that memories make, as *Does it help* and `memories.stats` tell it, and in words."""

from __future__ import annotations

import math
from operator import itemgetter
from typing import Literal

from pydantic import Field

from memshare_broker.wire.messages import Message
from memshare_memory.belief.lift import BEGIN_AFTER, Tried, Way

HelpWay = Way | Literal["same questions"]
MANY_MORE = 3  # times the tasks without memories, from which on the same questions say more than chance does
FEW_NAMES = 3  # that a sentence has
FEW_TASKS = 100  # ten questions asked twice are 20
STUDENT = "openai:student"  # of the demo


class HelpReply(Message):
    """How much better graded tasks did with memories than without, in points of 0 to 100.

    The same questions were asked with `remember` false, both without memories and shown some; from other tasks chance
    withheld all memories, the only one that there was, or one beside others that were shown: that tells what one more
    does. The difference has its 95 % interval, and is not told below ten tasks on a side. What chance withheld counts
    for good; of the same questions the last 2,000 answers of each agent do, for `MEMSHARE_KEEP_DAYS`.
    """

    way: HelpWay
    agent: str | None = Field(description="null: all tasks together")
    kind: str | None
    model: str | None
    unit: Literal["right", "points"] = Field(description="'right' where every grade is 0 or 100")
    tasks: int
    tasks_without: int
    mean: float | None
    mean_without: float | None
    difference: float | None
    low: float | None
    high: float | None
    more: int | None = Field(default=None, description="tasks to come until there are some ten on each side")
    days: float | None = Field(default=None, description="that these take at the last day's rate, after a day of data")
    missing: int = Field(default=0, description="questions, or tasks on the smaller side of what has both, below ten")
    waiting: int = Field(default=0, description="of all tasks: questions asked with an answer still to come")
    other_model: int = Field(default=0, description="and those that one model answered with memories, another without")
    alone: int = Field(default=0, description="and those asked on one side, or whose other answer is not kept any more")
    shown_none: int = Field(default=0, description="questions left out: with memories, none was shown")
    there: int = Field(default=0, description="of the questions, those that a memory shown has in the same words")
    changed: int = Field(default=0, description="and those asked before and after rubric or instructions changed")
    no_grade: int = Field(default=0, description="left out for lack of a grade: questions asked both ways, or tasks")
    no_grade_shown: int = Field(default=0, description="of these, those without a grade with memories")
    no_grade_without: int = Field(default=0, description="and those without a grade without memories")
    is_fair: bool = Field(
        default=True, description="false where far more of one side have no grade, or enough to turn it: no finding"
    )
    unfair: dict[str, int] = Field(
        default={}, description="of all tasks: agents, kinds and models that are left out as not fair, with their tasks"
    )
    begun: dict[str, int] | None = Field(
        default=None,
        description="by pool: graded tasks of a model that were shown three memories; from 20 on chance takes a number",
    )
    fixed: dict[str, int] = Field(default={}, description="agents whose files fix how many memories are shown")
    needs: str | None = Field(default=None, description="what is missing, where no task counted, nor can")
    left_out: tuple[str, ...] = Field(
        default=(), description="of all tasks: what only copies memories, where a model of one's own has answered, too"
    )
    of_many: tuple[float, float] | None = Field(
        default=None,
        description="of an agent: the ends of an interval of 1 − .05/k, for all k that have one; none of one withheld",
    )

    @property
    def in_words(self) -> str:
        """The difference with its interval, or how much is missing."""
        by = ", by questions" if self.way == "same questions" else ""
        points = (
            self.difference is not None and f"{self.difference:+.1f} points ({self.low:+.1f} to {self.high:+.1f}{by})"
        )
        if not self.is_fair:
            return f"no fair comparison: {self.so_far[2:]}{f'; those graded {points}' if points else ''}"
        if points:
            return f"{points}{self.so_far}"
        if self.needs:
            return f"not measured: it needs {self.needs}"
        if self.begun is not None and not (self.has_begun or self.tasks + self.tasks_without):
            first = f"chance begins once {BEGIN_AFTER} graded tasks of a pool and model were shown three memories"
            return f"too early: {first}, so far {self.early or 0}; then it takes some {self.more:,} more tasks"
        days = max(self.days or 0, 0.1)
        said = f"{days:{'.1g' if days < 9.5 else ',.0f'}}"
        rate = "" if self.days is None else f", {said} {'day' if said == '1' else 'days'} at today's rate"
        if not self.more:
            return f"too early: {self.missing} more on a side{self.so_far}"
        has_others = min(self.tasks, self.tasks_without) > 10 - self.missing
        some = f"some {self.more:,} more tasks{', in agents, kinds and models that have both sides' * has_others}{rate}"
        return f"too early: {some}{self.so_far and f' ({self.so_far[2:]})'}"

    @property
    def has_begun(self) -> bool:
        """True if chance takes a number of memories in some pool."""
        return max((self.begun or {}).values(), default=0) >= BEGIN_AFTER

    @property
    def early(self) -> str:
        """How many graded tasks with three memories each pool has in which chance has not begun, in words."""
        begun = self.begun or {}
        some = [f"{count:,} in {pool}" for pool, count in begun.items() if 0 < count < BEGIN_AFTER]
        none = [pool for pool, count in begun.items() if not count]
        others = f"{len(none):,} {'others' if some else 'pools'}" if len(none) > 1 else "".join(none)
        return ", ".join(some + [f"0 in {others}"] * bool(none))

    @property
    def so_far(self) -> str:
        """How many have both answers, of how many questions, and why the others do not count; else nothing."""
        sides = f"{self.no_grade_shown:,} with and {self.no_grade_without:,} without have no grade"
        said = [sides] * bool(self.no_grade)
        if self.way == "same questions":
            known = self.in_all + self.shown_none + self.changed
            why = [f"{self.shown_none:,} shown no memory"] * bool(self.shown_none) + said
            why += [f"{self.changed:,} asked before and after rubric or instructions changed"] * bool(self.changed)
            why += [f"{self.waiting:,} not answered twice yet"] * bool(self.waiting)
            why += [f"{self.other_model:,} answered by one model with memories, by another without"] * bool(
                self.other_model
            )
            why += [f"{self.alone:,} asked one way alone, among the last 2,000 of their agent"] * bool(self.alone)
            known += self.waiting + self.other_model + self.alone
            said = [f"{self.tasks:,} of {known:,} questions ({'; '.join(why)})"] * bool(why)
            said += [f"{self.there:,} in words that a memory has already, which says little"] * bool(self.there)
        if self.unfair:
            names = " and ".join(self.unfair) if len(self.unfair) <= FEW_NAMES else f"{len(self.unfair)} rows below"
            said.append(f"the {sum(self.unfair.values()):,} of {names} left out as no fair comparison")
        return "".join(f", {one}" for one in said)

    @property
    def in_all(self) -> int:
        """How many questions, or tasks of both sides, also without a grade."""
        return self.tasks + self.no_grade + (0 if self.way == "same questions" else self.tasks_without)

    @property
    def to_go(self) -> tuple[float, int] | None:
        """Days and tasks till it is told, by which what is on its way is put in order; None if nothing is.

        What people ask is there as soon as they ask; days that nobody knows come last.
        """
        if self.way == "same questions":
            found: tuple[float, int] | None = (0, 2 * self.missing) if self.tasks or self.waiting else None
        else:
            found = (math.inf if self.days is None else self.days, self.more) if self.more else None
        return found if self.difference is None and self.is_fair and not self.needs else None

    @property
    def compared(self) -> str:
        """The way, as people are told."""
        return "one memory more or less" if self.way == "one withheld" else self.way


class StatsReply(Message):
    """How many memories there are, what showing one does, and how many messages of each queue are open."""

    memories: int
    by_pool: dict[str, int]
    helps: tuple[HelpReply, ...] = Field(description="all together, then by agent, kind and model")
    numbers: dict[str, tuple[Tried, ...]] = Field(
        default={},
        description="by pool, where it is learnt: how many memories are shown, by model and kind",
    )
    too_early: str = Field(
        default="",
        description="where what memories do is not known yet: which difference is told first, and when, in words",
    )
    open: dict[str, int]

    @property
    def when_told(self) -> str:
        """Which difference is told first, and when, where what memories do is too early to say; else nothing."""
        first, known = self.first_help, {one.way for one in self.helps if not one.agent and one.difference is not None}
        early = "too early: "
        if first is None or not first.in_words.startswith(early):
            return ""
        others = ((one.to_go, one) for one in (first, *self.helps) if one.way not in known)
        near = min(((to_go, one) for to_go, one in others if to_go), key=itemgetter(0), default=(None, first))[1]
        whose = "/".join(filter(None, (near.agent, near.kind, near.model)))
        words = first.in_words.removeprefix(early) + ", until ten were answered without memories" * bool(first.more)
        if near.way != first.way:
            nearest = f"{near.compared}{whose and f' in {whose}'}, {near.in_words.removeprefix(early)}"
            words = f"nearest is {nearest}; {first.way}: {words}"
        is_slow = (first.more or 0) > FEW_TASKS and near.way != "same questions"
        return f"{early}{words}{'. Asking the same questions twice is quicker (docs/retriever.md)' * is_slow}"

    @property
    def first_help(self) -> HelpReply | None:
        """Of all tasks together the difference that is known, else the one that will be first; None without any.

        What chance withheld comes before questions that somebody chose, unless these are many more. What one memory
        more or less does is none of these.
        """
        every = [one for one in self.helps if one.agent is None and one.way != "one withheld"]
        known = {one.way: one for one in every if one.difference is not None and one.is_fair}
        chance, same = known.get("all withheld"), known.get("same questions")
        if chance and not (same and same.tasks >= MANY_MORE * min(chance.tasks, chance.tasks_without)):
            return chance
        return min(
            every, key=lambda one: (one.way not in known, one.difference is None, one.more or math.inf), default=None
        )

    @property
    def told(self) -> tuple[HelpReply, ...]:
        """The differences, each once: of one agent, kind and model alone it is that of all together."""
        groups = {(one.agent, one.kind, one.model) for one in self.helps if one.agent}
        ways = {one.way for one in self.helps if one.agent and len(groups) == 1}
        return tuple(one for one in self.helps if one.agent or one.way not in ways)

    @property
    def early(self) -> str:
        """The pools in which chance has not begun, unless that is all of them, and agents in which it never does."""
        told = next((one.early for one in self.helps if one.has_begun), "")
        needed = f"Chance takes no number yet in pools with fewer than {BEGIN_AFTER} graded tasks shown three memories"
        fixed = [f"{name} fixes {number}" for one in self.helps for name, number in one.fixed.items()]
        never = f"{', '.join(fixed)}; all are never withheld there."
        return " ".join([f"{needed}: {told}."] * bool(told) + [never] * bool(fixed))

    def _parts(self, one: HelpReply) -> list[HelpReply]:
        """Itself, and of all tasks together the agents, kinds and models that its difference is about."""
        same = (each for each in self.helps if each is one or (one.agent is None and each.way == one.way))
        fair = (each for each in same if each is one or each.is_fair or not one.unfair)
        return [each for each in fair if one.difference is None or each.tasks * each.tasks_without]

    def agents_of(self, one: HelpReply) -> str:
        """The agents that a difference of all tasks is about, by name where they are few, of how many measured."""
        of = sorted({each.agent for each in self._parts(one) if each.agent and each.model not in one.left_out})
        every = {each.agent for each in self.helps if each.agent}
        count = f"{len(of)} of {len(every)} agents" if len(of) < len(every) else f"{len(of)} agents"
        names = " and ".join(of)
        return count if len(of) > FEW_NAMES else names if len(of) in (0, len(every)) else f"{count}: {names}"

    def answered_by(self, one: HelpReply) -> str:
        """The models of its tasks, in words, and those that are left out; empty where none is known."""
        of = {each.model for each in self._parts(one)}
        copies = {STUDENT: ", which copies what it is shown and answers nothing alone"}
        models = " and ".join(f"{model}{copies.get(model, '')}" for model in sorted(filter(None, of - {*one.left_out})))
        left_out = f", without the copies of {' and '.join(one.left_out)}" if one.left_out else ""
        return f"{models or 'nobody yet'}{left_out}" if left_out else models

    @property
    def differs(self) -> bool:
        """True if memories help some agent, kind or model for sure, and harm another."""
        ends = [one.of_many for one in self.helps if one.of_many]
        return any(low > 0 for low, _ in ends) and any(high < 0 for _, high in ends)

    @property
    def harms(self) -> tuple[str, ...]:
        """A sentence for each agent, kind and model that does worse with memories for sure, of how many there are."""
        known = self._compared
        sure = f"{100 - 5 / max(len(known), 1):.4g} % interval, as {len(known)} are compared"
        return tuple(
            f"Harms in {one.agent}/{one.kind or 'no kind'}, {one.way}: {one.difference:+.1f} points"
            f" ({low:+.1f} to {high:+.1f}; {sure})"
            for one, (low, high) in known
            if high < 0
        )

    @property
    def may_harm(self) -> tuple[str, ...]:
        """A sentence for each that does worse by its own interval alone, of how many there are."""
        known = self._compared
        return tuple(
            f"{one.agent}/{one.kind or 'no kind'}, {one.way}: {one.difference:+.1f} points ({one.low:+.1f} to"
            f" {one.high:+.1f}), by itself below 0; as one of {len(known)} rows it may be chance"
            for one, (_, high) in known
            if (one.high or 0) < 0 <= high
        )

    @property
    def _compared(self) -> list[tuple[HelpReply, tuple[float, float]]]:
        return [(one, one.of_many) for one in self.helps if one.of_many]
