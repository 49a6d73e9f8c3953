"""The Celery tasks of the agents' queues: `agents.NAME` answers one task."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from celery import Celery

from agents.prompt import build_prompt
from agents.roster import Agent
from broker.app import SCORER_QUEUE
from broker.errors import BadInput
from broker.messages import AgentTask, Answer, AnsweredTask, Shown
from broker.stage import Desk, Following, Outcome, Stage, add_stage
from llm.chat import Chat
from llm.metered import Metering, Payer, unmetered
from memory_service.recall import Recall

log = logging.getLogger(__name__)


def uncapped(agent: str, submitter: str) -> None:
    """The check where nothing is capped."""


@dataclass(frozen=True)
class Answering:
    """An agent at work, with its model and the pool of memories."""

    agent: Agent
    chat: Chat
    pool: Callable[[], Recall]
    prompt_limit: int
    metering: Metering = unmetered
    check_caps: Callable[[str, str], None] = uncapped
    """Raises `NotYet` where the cap of an agent or of a submitter is reached."""

    def run(self, journey: str, task: AgentTask) -> Outcome:
        """Recall memories, ask the model, and hand the pair on to be graded."""
        started = time.monotonic()
        kind = self.agent.kind(task.kind)
        text = task.text
        if len(text) > self.prompt_limit:
            raise BadInput(f"The prompt has {len(text):,} characters; at most {self.prompt_limit:,} are taken.")
        # Here alone: what was answered is still graded and learnt from.
        self.check_caps(self.agent.name, task.submitter)

        recall = self.pool()
        embedding = recall.embed(text)
        k = self.agent.memories if task.memories is None else task.memories
        recalled = recall.nearest(self.agent.pool, text, embedding.unpack(), k, kind.recall or self.agent.recall)
        memories = [hit.memory for hit in recalled.hits]
        with self.metering(self.chat, Payer(journey, self.agent.name, task.submitter)) as chat:
            reply = chat.reply(build_prompt(kind.instructions, memories, task.turns))

        shown = tuple(Shown(id=hit.memory.id, similarity=hit.similarity) for hit in recalled.hits)
        answer = Answer(
            task_id=journey,
            agent=self.agent.name,
            kind=task.kind,
            answer=reply.text,
            model=reply.model,
            memories=shown,
            retriever_version=recalled.retriever_version,
            usage=reply.usage,
            seconds=round(time.monotonic() - started, 3),
        )
        pair = AnsweredTask(
            journey=journey,
            agent=self.agent.name,
            kind=task.kind,
            pool=self.agent.pool,
            rubric=self.agent.rubric,
            prompt=text,
            answer=reply.text,
            model=reply.model,
            submitter=task.submitter,
            shown=shown,
            embedding=embedding,
        )
        log.info("Answered with %d memories. task_id=%s agent=%s", len(shown), journey, self.agent.name)
        return Outcome(answer, Following("scorer.score", SCORER_QUEUE, "score", pair))


def register(app: Celery, agent: Agent, desk: Callable[[], Desk], answering: Callable[[], Answering]) -> None:
    """Register an agent's task; what it needs is built when the first message comes."""
    answer = Stage(f"agents.{agent.name}", "answer", AgentTask, lambda journey, task: answering().run(journey, task))
    add_stage(app, answer, desk)
