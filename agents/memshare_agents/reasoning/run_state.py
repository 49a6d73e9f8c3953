"""The state of a run: the queue of operators, the questions on their way to an answer, and what is known."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from pydantic import Field

from memshare_agents.reasoning.coordinator import COORDINATOR
from memshare_agents.reasoning.knowledge import ShortTerm, ShortTermItem
from memshare_agents.reasoning.operator import OperatorCall, OperatorProposal, OperatorResult, Verdict
from memshare_broker.toml_files import TomlForm
from memshare_broker.wire.messages import MAX_PARTS, Step, Usage
from memshare_llm.chat import Chat, ChatAround, ChatCall, R, RefusedReply, UselessReply


class RunLimits(TomlForm):
    """The budgets of one run, the first of which that is used up ends it, and how its short-term memory forgets."""

    depth: int = Field(
        default=5, ge=1, le=16, description="levels of sub-questions within each other; plans made anew stay on theirs"
    )
    steps: int = Field(default=24, ge=1, le=100)
    calls: int = Field(default=60, ge=1, le=1_000, description="of models, by all steps together")
    tokens: int = Field(default=150_000, ge=1, description="read and written by all model calls of the run")
    seconds: float | None = Field(default=None, gt=0, description="absent: as long as a task may take")
    sub_questions: int = Field(
        default=0, ge=0, le=MAX_PARTS, description="with verified answers that are graded, to become memories, too"
    )
    context: int = Field(default=8_000, ge=1_000, description="tokens of short-term memory that a model is shown")
    decay: float = Field(default=0.9, gt=0, le=1, description="part of an item's strength that is left after a step")
    threshold: float = Field(default=0.25, ge=0, lt=1, description="strength below which an item is dropped")


class UsedUp(Exception):
    """A budget of the run is used up; the message says which."""


class RunBudget:
    """Usage of a run so far."""

    def __init__(self, limits: RunLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self.usage = Usage()
        self.calls = 0
        self._limits = limits
        self._clock = clock
        self._end = clock() + (limits.seconds or inf)

    def check(self) -> None:
        """Raise `UsedUp` where nothing is left."""
        if self.usage.prompt_tokens + self.usage.completion_tokens >= self._limits.tokens:
            raise UsedUp(f"its budget of {self._limits.tokens:,} tokens is used up")
        if self.calls >= self._limits.calls:
            raise UsedUp(f"its {self._limits.calls} calls of models are used up")
        if self._clock() >= self._end:
            raise UsedUp(f"its time of {self._limits.seconds:g} seconds is over")


class Paid(ChatAround):
    """A chat model for one step of a run. A call raises `UsedUp` where it would begin without a budget.

    The last call may exceed the tokens, as its length is known only afterwards.
    """

    def __init__(self, chat: Chat, budget: RunBudget) -> None:
        super().__init__(chat)
        self.usage = Usage()
        self.asked = False
        self._budget = budget

    def _call(self, call: Callable[[], R], asked: ChatCall) -> R:  # noqa: ARG002
        self._budget.check()
        self._budget.calls += 1
        self.asked = True
        try:
            said = call()
        except (UselessReply, RefusedReply) as error:
            self._pay(error.usage)
            raise
        self._pay(said.usage)
        return said

    def _pay(self, usage: Usage) -> None:
        self.usage += usage
        self._budget.usage += usage


Grounds = tuple[tuple[ShortTermItem, float], ...]
"""The grounds of an answer: items that were found, each with its share in the answer."""


@dataclass(eq=False)
class RunPart:
    """A question on its way to an answer: the task's own, or a sub-question of it."""

    question: str
    depth: int = 0
    """How many questions it is a part of: 0 is the task's own."""
    proposal: OperatorProposal | None = None
    verdict: Verdict | None = None
    """Of the last proposal."""
    given_up: bool = False
    recalled: bool = False
    """True once memories were recalled for it."""

    @property
    def is_whole(self) -> bool:
        return self.depth == 0


class WaitingRun(NamedTuple):
    """A call in the queue: the question that it works on, its level, and the number of the step that made it.

    All that is done for a question is one level below the call that asks it, however often it is planned anew.
    """

    call: OperatorCall
    part: RunPart
    depth: int
    parent: int | None


class Attempt(NamedTuple):
    """An answer that was checked, to the whole question or to a part of it, and what it rests on."""

    whole: bool
    question: str
    answer: str
    verified: bool
    grounds: Grounds


@dataclass
class RunState:
    """A run on its way."""

    whole: RunPart
    memory: ShortTerm
    queue: deque[WaitingRun]
    steps: list[Step] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)

    def take(self, result: OperatorResult, waiting: WaitingRun, number: int) -> None:
        """Let a step's result change what is known, what is proposed and what waits."""
        part, before = waiting.part, self.memory.items
        self.memory = self.memory.recall(result.recalled).fade().hold(result.items)
        if result.proposal is not None:
            part.proposal, part.verdict = result.proposal, None
        if result.verdict is not None:
            part.verdict = result.verdict
            grounds = grounds_of(before, result.verdict.shares)
            answer = part.proposal.answer if part.proposal else ""
            self.attempts.append(Attempt(part.is_whole, part.question, answer, result.verdict.verified, grounds))
            if result.verdict.verified and not part.is_whole:
                self._answered(part, answer, grounds)
        if result.plan is not None:
            self._splice(result.plan, waiting, number)

    def give_up(self, part: RunPart) -> None:
        """Note that a sub-question stays without an answer, as it went too deep."""
        if not (part.is_whole or part.given_up):
            part.given_up = True
            self.memory = self.memory.hold(
                [ShortTermItem("not there", f"No answer to this was verified: {part.question}")]
            )

    def _answered(self, part: RunPart, answer: str, grounds: Grounds) -> None:
        """A sub-question has its answer: what follows can read it, and nothing more is done for it."""
        self.memory = self.memory.hold([ShortTermItem("answer", answer, about=part.question, rests_on=grounds)])
        self.queue = deque(waiting for waiting in self.queue if waiting.part is not part)

    def _splice(self, plan: Sequence[OperatorCall], waiting: WaitingRun, number: int) -> None:
        """Put a list where the operator was that made it: before all that waits."""
        last, level = len(plan) - 1, waiting.part.depth + 1
        calls = [
            # A coordinator that others of its list wait for has a question of its own; the last one plans on.
            WaitingRun(
                call,
                RunPart(str(call.arguments["goal"]), level)
                if call.operator == COORDINATOR and place < last
                else waiting.part,
                level,
                number,
            )
            for place, call in enumerate(plan)
        ]
        self.queue.extendleft(reversed(calls))


def grounds_of(items: Sequence[ShortTermItem], shares: Mapping[str, float]) -> Grounds:
    """The items with a share by their labels; an answer to a sub-question passes its share on to what it rests on."""
    return tuple(
        (leaf, part * shares[item.label]) for item in items if item.label in shares for leaf, part in leaves(item)
    )


def leaves(item: ShortTermItem) -> Iterator[tuple[ShortTermItem, float]]:
    """The found items behind an item, each with its part: those that an answer rests on, or the item itself."""
    if item.kind == "answer":
        yield from item.rests_on
    else:
        yield item, 1.0
