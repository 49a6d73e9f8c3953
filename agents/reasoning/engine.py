"""The engine: a queue of operators, first in first out, that runs until an answer is verified or a budget is used up.

After DynaMind (arXiv 2310.14248), from its description: a coordinator's list replaces the queue.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from memshare.agents.reasoning.budget import Budget, Paid, UsedUp
from memshare.agents.reasoning.limits import Limits
from memshare.agents.reasoning.operator import Call, Context, Operator, Proposal, Result, Verdict
from memshare.agents.reasoning.plan import COORDINATOR
from memshare.agents.reasoning.short_term import Item, ShortTerm
from memshare.agents.reasoning.steps import record
from memshare.broker.wire.messages import Step, Usage
from memshare.llm.chat import Chat
from memshare.llm.structured import DoesNotFit

if TYPE_CHECKING:
    from memshare.agents.reasoning.knowledge import Knowledge
    from memshare.agents.reasoning.sources import Sources

FIRST = Call(COORDINATOR, {"goal": "Answer the question."})
ANEW = Call(COORDINATOR, {"goal": "Go on without the step that failed."})


class Waiting(NamedTuple):
    """A call in the queue: how deep it is, and the number of the step that made it."""

    call: Call
    depth: int
    parent: int | None


@dataclass(frozen=True)
class Run:
    """What became of a question. Where `verified` is false, `end` says why the run ended."""

    proposal: Proposal | None
    verdict: Verdict | None
    end: str
    items: tuple[Item, ...]
    steps: tuple[Step, ...]
    usage: Usage

    @property
    def verified(self) -> bool:
        return self.verdict is not None and self.verdict.verified


@dataclass
class _State:
    """A run on its way."""

    memory: ShortTerm
    queue: deque[Waiting]
    steps: list[Step] = field(default_factory=list)
    proposal: Proposal | None = None
    verdict: Verdict | None = None
    """Of the last proposal."""

    def take(self, result: Result, waiting: Waiting, number: int) -> None:
        """Let a step's result change what is known, what is proposed and what waits."""
        self.memory = self.memory.recall(result.recalled).fade().hold(result.items)
        if result.proposal is not None:
            self.proposal, self.verdict = result.proposal, None
        if result.verdict is not None:
            self.verdict = result.verdict
        if result.plan is not None:
            self.queue = deque(Waiting(call, waiting.depth + 1, number) for call in result.plan)


@dataclass(frozen=True)
class Engine:
    """Runs questions; `chat_of` gives the model of an operator by its name."""

    operators: Mapping[str, Operator[Any]]
    limits: Limits
    chat_of: Callable[[str], Chat]
    knowledge: Knowledge
    sources: Sources
    documents: tuple[str, ...] = ()

    def run(self, question: str, instructions: str) -> Run:
        """Answer a question, told how by `instructions`; raises what a model raises, but for replies that do not fit.

        It ends by a verified answer, or else by the first budget that is used up.
        """
        budget = Budget(self.limits)
        state = _State(ShortTerm(self.limits.context), deque([Waiting(FIRST, 0, None)]))
        end = "its plan came to an end"
        while state.queue:
            waiting = state.queue.popleft()
            if waiting.depth > self.limits.depth:
                end = f"it reached its limit of {self.limits.depth} levels of depth"
                break
            if len(state.steps) >= self.limits.steps:
                end = f"it reached its limit of {self.limits.steps} steps"
                break
            try:
                self._step(state, waiting, budget, question, instructions)
            except UsedUp as error:
                end = str(error)
                break
            if state.verdict is not None and state.verdict.verified:
                end = "verified"
                break
        return Run(state.proposal, state.verdict, end, state.memory.items, tuple(state.steps), budget.usage)

    def _step(self, state: _State, waiting: Waiting, budget: Budget, question: str, instructions: str) -> None:
        """Run one operator and record it, also where a budget ends it half-way."""
        operator = self.operators[waiting.call.operator]
        paid, number, started = Paid(self.chat_of(operator.name), budget), len(state.steps) + 1, time.monotonic()
        unchecked = state.proposal if state.verdict is None else None
        context = Context(
            question=question,
            instructions=instructions,
            items=state.memory.shown(),
            sources_found=frozenset(item.source for item in state.memory.items if item.source),
            proposal=unchecked,
            done=tuple(state.steps),
            depth_left=self.limits.depth - waiting.depth,
            steps_left=self.limits.steps - number,
            room=self.limits.context,
            chat=paid,
            operators=self.operators,
            knowledge=self.knowledge,
            sources=self.sources,
            documents=self.documents,
        )
        result = Result(said="Stopped: a budget of the run was used up.")
        try:
            budget.check()
            result = operator.run(operator.arguments.model_validate(waiting.call.arguments), context)
        except DoesNotFit as error:
            result = Result(said=f"Failed: {error}", plan=(ANEW,))
        finally:
            recalled = [item.memory_id for item in state.memory.items if item.label in result.recalled]
            ids = [*recalled, *(item.memory_id for item in result.items)]
            step = record(
                number=number,
                parent=waiting.parent,
                depth=waiting.depth,
                operator=operator.name,
                arguments=waiting.call.arguments,
                read=result.read,
                said=result.said,
                knowledge=tuple(one for one in ids if one is not None),
                verified=result.verdict.verified if result.verdict else None,
                model=paid.name if paid.asked else None,
                usage=paid.usage,
                seconds=round(time.monotonic() - started, 3),
            )
            state.steps.append(step)
        state.take(result, waiting, number)
