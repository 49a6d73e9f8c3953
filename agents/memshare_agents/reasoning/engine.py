"""The engine: a queue of operators that runs until an answer is verified or a budget is used up.

After DynaMind (arXiv 2310.14248, 3.1), from its description: the list that a coordinator returns replaces the
coordinator in the queue, and what waited after it goes on. A reasoner is an agent's engine with its models and sources:
it goes from a task to an answer.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from uuid import UUID

from memshare_agents.answering import AnswerMade
from memshare_agents.reasoning.answers import discriminator, responder
from memshare_agents.reasoning.coordinator import COORDINATOR, coordinator
from memshare_agents.reasoning.knowledge import Knowledge, ShortTerm, ShortTermItem
from memshare_agents.reasoning.lookups import UNQUOTED, browser, filtered, searcher
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
    leaves,
)
from memshare_agents.reasoning.toolbox import Toolbox
from memshare_broker.errors import BadInput
from memshare_broker.wire.grades import JudgedAnswer
from memshare_broker.wire.messages import MAX_LEARNT, AgentTask, Learnt, PartAnswer, Shown, Step, Usage
from memshare_llm.chat import Chat
from memshare_llm.limits.budget import Metering, Payer
from memshare_llm.structured import DoesNotFit
from memshare_memory.door.messages import Conditions
from memshare_memory.memory import folded

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


OPERATORS: Mapping[str, Operator[Any]] = MappingProxyType(
    {one.name: one for one in (coordinator, searcher, filtered, browser, responder, discriminator)}
)


def shown_in(run: EngineRun) -> tuple[Shown, ...]:
    """The memories that the last answer used, each with its share where the answer was checked; largest first."""
    used = set(run.proposal.used if run.proposal else ())
    found = [leaf for item in run.items if item.label in used for leaf, _ in leaves(item)]
    if run.verdict is None:
        return _shown((item, None) for item in found)
    return _shown([*((item, 0.0) for item in found), *_last(run)])


def judged_in(run: EngineRun) -> tuple[JudgedAnswer, ...]:
    """Every answer of a run that was judged and rests on memories, but for the verified one to the whole question.

    That one is graded, and credits what it rests on with its grade.
    """
    judged = [
        JudgedAnswer(shown=_shown(attempt.grounds), verdict=float(attempt.verified))
        for attempt in run.attempts
        if not (attempt.verified and attempt.whole)
    ]
    return tuple(answer for answer in judged if any(one.share for one in answer.shown))


def learnt_in(run: EngineRun, now: float) -> tuple[Learnt, ...]:
    """Statements from documents and web pages that were read for a verified answer, each with a quote."""
    pages = {item.text: item for item, share in _last(run) if run.verified and share > 0 and item.kind == "page"}
    return tuple(
        Learnt(statement=item.text, source=item.source, read=now, parents=item.parents)
        for item in list(pages.values())[:MAX_LEARNT]
        if not item.text.endswith(UNQUOTED)
    )


def parts_in(run: EngineRun, question: str, most: int) -> tuple[PartAnswer, ...]:
    """The first sub-questions with verified answers, each once; none that is the task's own question."""
    found: dict[str, PartAnswer] = {}
    for one in run.attempts:
        known = folded(one.question)
        if one.verified and not one.whole and known != folded(question) and known not in found:
            found[known] = PartAnswer(question=one.question, answer=one.answer, shown=_shown(one.grounds))
    return tuple(found.values())[:most]


def _last(run: EngineRun) -> Iterable[tuple[ShortTermItem, float]]:
    whole = [attempt for attempt in run.attempts if attempt.whole]
    return whole[-1].grounds if whole and run.verdict is not None else ()


def _shown(found: Iterable[tuple[ShortTermItem, float | None]]) -> tuple[Shown, ...]:
    shares: defaultdict[UUID, list[float]] = defaultdict(list)
    items: dict[UUID, ShortTermItem] = {}
    for item, share in found:
        if item.memory_id is not None:
            items[item.memory_id] = item
            shares[item.memory_id] += [] if share is None else [share]
    shown = [
        Shown(
            id=one,
            similarity=item.similarity,
            share=min(sum(shares[one]), 1.0) if shares[one] else None,
            proven=item.proven,
            said=item.said,
        )
        for one, item in items.items()
    ]
    return tuple(sorted(shown, key=lambda one: -(one.share or 0)))


@dataclass(frozen=True)
class Reasoner:
    """Answers tasks by runs of the engine; `chats` has the models of the operators that have one of their own."""

    limits: RunLimits
    chat: Chat
    chats: Mapping[str, Chat]
    sources: Sources
    toolbox: Toolbox = field(default_factory=Toolbox)

    def __post_init__(self) -> None:
        """Raise `BadInput` for a model of an unknown operator."""
        unknown = sorted(self.chats.keys() - OPERATORS.keys())
        if unknown:
            raise BadInput(f"[models] names {unknown[0]!r}, which is no operator. There are: {', '.join(OPERATORS)}.")

    def answer(
        self,
        task: AgentTask,
        instructions: str,
        knowledge: Knowledge,
        metering: Metering,
        payer: Payer,
    ) -> AnswerMade:
        """The answer to a task; what is not verified says so in its first sentence. Raises what the models raise."""
        tools, notes = self.toolbox.operators()
        with ExitStack() as stack:
            metered: dict[str, Chat] = {}
            for chat in (self.chat, *self.chats.values()):
                if chat.name not in metered:
                    # Under a name of its own each model's replies are kept apart, should the task have to wait.
                    paid_by = payer._replace(journey=f"{payer.journey} {chat.name}")
                    metered[chat.name] = stack.enter_context(metering(chat, paid_by))
            engine = Engine(
                {**OPERATORS, **tools},
                self.limits,
                lambda operator: metered[self.chats.get(operator, self.chat).name],
                knowledge,
                self.sources,
                task.documents,
            )
            run = engine.run(task.text, instructions)
        return AnswerMade(
            text=answer_of(run),
            model=run.proposal.model if run.proposal else self.chat.name,
            shown=shown_in(run),
            judged=judged_in(run),
            learnt=learnt_in(run, time.time()),
            parts=parts_in(run, task.text, self.limits.sub_questions),
            retriever_version=knowledge.retriever_version,
            usage=run.usage,
            steps=run.steps,
            verified=run.verified,
            notes=notes,
        )


def answer_of(run: EngineRun) -> str:
    """Text for the user: a verified answer as it is, any other after a sentence that says why it is not verified."""
    if run.verified and run.proposal:
        return run.proposal.answer
    unverified = f"This could not be verified: {run.end}."
    if run.proposal is None:
        return f"{unverified} No answer was found."
    checked = f"was rejected ({run.verdict.reason})" if run.verdict else "was not checked"
    return f"{unverified} The last answer, which {checked}, was:\n\n{run.proposal.answer}"
