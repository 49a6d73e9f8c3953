"""The reasoner: an agent's engine with its models and sources, from a task to an answer."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memshare_agents.answering import AnswerMade
from memshare_agents.reasoning.budget import RunLimits
from memshare_agents.reasoning.engine import Engine, EngineRun
from memshare_agents.reasoning.grounds import judged_in, learnt_in, parts_in, shown_in
from memshare_agents.reasoning.knowledge import Knowledge
from memshare_agents.reasoning.registry import OPERATORS
from memshare_broker.errors import BadInput
from memshare_broker.wire.messages import AgentTask
from memshare_llm.chat import Chat
from memshare_llm.limits.metered import Metering, Payer

if TYPE_CHECKING:
    from memshare_agents.reasoning.sources.build import Sources


@dataclass(frozen=True)
class Reasoner:
    """Answers tasks by runs of the engine; `chats` has the models of the operators that have one of their own."""

    limits: RunLimits
    chat: Chat
    chats: Mapping[str, Chat]
    sources: Sources

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
        with ExitStack() as stack:
            metered: dict[str, Chat] = {}
            for chat in (self.chat, *self.chats.values()):
                if chat.name not in metered:
                    # Under a name of its own each model's replies are kept apart, should the task have to wait.
                    paid_by = payer._replace(journey=f"{payer.journey} {chat.name}")
                    metered[chat.name] = stack.enter_context(metering(chat, paid_by))
            engine = Engine(
                OPERATORS,
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
        )


def answer_of(run: EngineRun) -> str:
    """What the user reads: a verified answer as it is, any other after a sentence that says why it is not verified."""
    if run.verified and run.proposal:
        return run.proposal.answer
    unverified = f"This could not be verified: {run.end}."
    if run.proposal is None:
        return f"{unverified} No answer was found."
    checked = f"was rejected ({run.verdict.reason})" if run.verdict else "was not checked"
    return f"{unverified} The last answer, which {checked}, was:\n\n{run.proposal.answer}"
