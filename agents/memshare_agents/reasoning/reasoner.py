"""The reasoner: an agent's engine with its models and sources, from a task to an answer."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from uuid import UUID

from memshare_agents.answering import AnswerMade
from memshare_agents.reasoning.browser import UNQUOTED, browser
from memshare_agents.reasoning.coordinator import coordinator
from memshare_agents.reasoning.discriminator import discriminator
from memshare_agents.reasoning.engine import Engine, EngineRun
from memshare_agents.reasoning.knowledge import Knowledge
from memshare_agents.reasoning.operator import Operator
from memshare_agents.reasoning.responder import responder
from memshare_agents.reasoning.run_state import RunLimits, leaves
from memshare_agents.reasoning.searcher import filtered, searcher
from memshare_agents.reasoning.short_term import ShortTermItem
from memshare_agents.reasoning.toolbox import Toolbox
from memshare_broker.errors import BadInput
from memshare_broker.wire.grades import JudgedAnswer
from memshare_broker.wire.messages import MAX_LEARNT, AgentTask, Learnt, PartAnswer, Shown
from memshare_llm.chat import Chat
from memshare_llm.limits.metered import Metering, Payer
from memshare_memory.memory import folded

if TYPE_CHECKING:
    from memshare_agents.reasoning.sources.build import Sources

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
