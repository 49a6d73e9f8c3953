"""The engine: a queue of operators that runs until an answer is verified or a budget is used up.

After DynaMind (arXiv 2310.14248, 3.1), from its description: the list that a coordinator returns replaces the
coordinator in the queue, and what waited after it goes on.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memshare_agents.reasoning.coordinator import COORDINATOR
from memshare_agents.reasoning.operator import (
    Context,
    Operator,
    OperatorCall,
    OperatorProposal,
    OperatorResult,
    Verdict,
)
from memshare_agents.reasoning.run_state import (
    Attempt,
    Paid,
    RunBudget,
    RunLimits,
    RunPart,
    RunState,
    UsedUp,
    WaitingRun,
)
from memshare_agents.reasoning.short_term import ShortTerm, ShortTermItem
from memshare_broker.wire.messages import Step, Usage
from memshare_llm.chat import Chat
from memshare_llm.structured import DoesNotFit
from memshare_memory.door.messages import Conditions

if TYPE_CHECKING:
    from memshare_agents.reasoning.knowledge import Knowledge
    from memshare_agents.reasoning.sources.build import Sources

# Characters, and how many: a run of 100 steps stays a small message.
ARGUMENTS, SAID, READ = 600, 1_000, 60
MOST_READ, MOST_KNOWLEDGE = 12, 40

FIRST = OperatorCall(COORDINATOR, {"goal": "Answer the question."})
ANEW = OperatorCall(COORDINATOR, {"goal": "Go on without the step that failed."})


@dataclass(frozen=True)
class EngineRun:
    """Result of a question's run. Where `verified` is false, `end` says why the run ended."""

    proposal: OperatorProposal | None
    verdict: Verdict | None
    end: str
    items: tuple[ShortTermItem, ...]
    attempts: tuple[Attempt, ...]
    """Every answer that was checked, in order, also those to sub-questions."""
    steps: tuple[Step, ...]
    usage: Usage

    @property
    def verified(self) -> bool:
        return self.verdict is not None and self.verdict.verified


@dataclass(frozen=True)
class Engine:
    """Runs questions; `chat_of` gives the model of an operator by its name."""

    operators: Mapping[str, Operator[Any]]
    limits: RunLimits
    chat_of: Callable[[str], Chat]
    knowledge: Knowledge
    sources: Sources
    documents: tuple[str, ...] = ()
    recalls_first: bool = True
    """Recall memories for each question before its first plan. False: a step of a plan has to."""

    def run(self, question: str, instructions: str) -> EngineRun:
        """Answer a question, told how by `instructions`; raises what a model raises, but for replies that do not fit.

        It ends by a verified answer to the whole question, or else when nothing waits or a budget is used up.
        """
        limits, whole = self.limits, RunPart(question)
        budget = RunBudget(limits)
        memory = ShortTerm(limits.context, decay=limits.decay, threshold=limits.threshold)
        state = RunState(whole, memory, deque([WaitingRun(FIRST, whole, 0, None)]))
        end = "its plan came to an end"
        while state.queue:
            waiting = state.queue.popleft()
            if waiting.depth > limits.depth:
                end = f"it reached its limit of {limits.depth} levels of depth"
                state.give_up(waiting.part)
                continue  # with what is less deep
            if len(state.steps) >= limits.steps:
                end = f"it reached its limit of {limits.steps} steps"
                break
            try:
                self._step(state, waiting, budget, instructions)
            except UsedUp as error:
                end = str(error)
                break
            if whole.verdict is not None and whole.verdict.verified:
                end = "verified"
                break
        attempts, steps = tuple(state.attempts), tuple(state.steps)
        return EngineRun(whole.proposal, whole.verdict, end, state.memory.items, attempts, steps, budget.usage)

    def _step(self, state: RunState, waiting: WaitingRun, budget: RunBudget, instructions: str) -> None:
        """Run one operator and record it, also where a budget ends it half-way."""
        operator, part = self.operators[waiting.call.operator], waiting.part
        paid, number, started = Paid(self.chat_of(operator.name), budget), len(state.steps) + 1, time.monotonic()
        if self.recalls_first and operator.name == COORDINATOR and not part.recalled:
            part.recalled = True
            state.memory = state.memory.hold(self.knowledge.search(part.question, Conditions()))
        context = Context(
            question=part.question,
            whole=state.whole.question,
            instructions=instructions,
            items=state.memory.shown(),
            sources_found=frozenset(item.source for item in state.memory.items if item.source),
            left_out=state.memory.left_out(),
            proposal=part.proposal if part.verdict is None else None,
            done=tuple(state.steps),
            waiting=tuple(one.call.operator for one in state.queue),
            depth_left=self.limits.depth - part.depth,
            steps_left=self.limits.steps - number,
            room=self.limits.context,
            chat=paid,
            operators=self.operators,
            knowledge=self.knowledge,
            sources=self.sources,
            documents=self.documents,
            is_part=not part.is_whole,
        )
        result = OperatorResult(said="Stopped: a budget of the run was used up.")
        try:
            budget.check()
            result = operator.run(operator.arguments.model_validate(waiting.call.arguments), context)
        except DoesNotFit as error:
            result = OperatorResult(said=f"Failed: {error}", plan=(ANEW,))
        finally:
            recalled = [item.memory_id for item in state.memory.items if item.label in result.recalled]
            ids = [*recalled, *(item.memory_id for item in result.items)]
            step = Step(
                number=number,
                parent=waiting.parent,
                depth=waiting.depth,
                operator=operator.name,
                arguments=_short(json.dumps(waiting.call.arguments, ensure_ascii=False), ARGUMENTS),
                read=_names(result.read),
                left_out=_names(result.left_out),
                said=_short(result.said, SAID),
                knowledge=tuple(dict.fromkeys(one for one in ids if one is not None))[:MOST_KNOWLEDGE],
                verified=result.verdict.verified if result.verdict else None,
                model=paid.name if paid.asked else None,
                usage=paid.usage,
                seconds=round(time.monotonic() - started, 3),
            )
            state.steps.append(step)
        state.take(result, waiting, number)


def _names(all_of_them: tuple[str, ...]) -> tuple[str, ...]:
    """The first names, cut to their length, with their white space made plain, and how many more there are."""
    names = [_short(" ".join(name.split()), READ) for name in all_of_them[:MOST_READ]]
    if len(all_of_them) > MOST_READ:
        names.append(f"and {len(all_of_them) - MOST_READ} more")
    return tuple(names)


def _short(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
