"""The Celery task of the queue `concepts`: `concepts.extract` asks a model which concepts a memory has."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from celery import Celery

from memshare.broker.app import MEMORY_QUEUE
from memshare.broker.delivery.stage import NextMessage, Outcome, Stage
from memshare.broker.delivery.stage_task import StageServices, add_stage
from memshare.broker.observe.logs import ids
from memshare.broker.wire.extractions import Extracted, ExtractTask
from memshare.concepts.extraction import extract, stored
from memshare.llm.chat import Chat
from memshare.llm.limits.metered import Metering, Payer
from memshare.llm.no_model import has_model
from memshare.memory_service.door.client import MemoryClient
from memshare.memory_service.door.messages import SearchRequest
from memshare.memory_service.memory import Memory, memory_id
from memshare.memory_service.stores.store import Where

log = logging.getLogger(__name__)

EXAMPLES = 3
LOOKED_AT = 12  # memories, the nearest ones, of which the first with concepts are examples


@dataclass(frozen=True)
class Extracting:
    """The concept worker at work, with its model and its connection to the memory service."""

    chat: Chat
    memory: MemoryClient
    metering: Metering
    check_caps: Callable[[str, str], None]
    """Raises `NotYet` where the cap of an agent or of a submitter is reached."""

    def run(self, journey: str, task: ExtractTask) -> Outcome:
        """Ask for the concepts of a memory as it is now.

        One that is gone, or has some, is not asked about, and without a model none is.
        """
        nothing = Extracted(journey=journey, pool=task.pool, memory_id=task.memory_id)
        if not has_model(self.chat):
            return Outcome(nothing, ended="no model")
        found = self.memory.page(Where(ids=[task.memory_id]), 1).memories
        if not found or found[0].concepts:
            return Outcome(nothing, ended="known" if found else "gone")
        [memory] = found
        self.check_caps(task.agent, task.submitter)
        examples = self._examples(memory)
        with self.metering(self.chat, Payer(journey, task.agent, task.submitter)) as chat:
            asked = extract(chat, memory, examples)
        extracted = Extracted(
            journey=journey,
            pool=memory.pool,
            memory_id=memory.id,
            said=memory_id(memory.pool, memory.prompt, memory.answer),
            concepts=stored(asked.value),
            model=asked.model,
            usage=asked.usage,
        )
        log.info("Named its concepts.", extra=ids(task_id=journey, memory_id=memory.id, pool=memory.pool))
        return Outcome(extracted, NextMessage("memory_service.concepts", MEMORY_QUEUE, "concepts", extracted), "named")

    def _examples(self, memory: Memory) -> list[Memory]:
        """The nearest memories of the pool that have concepts."""
        where = Where(pool=memory.pool, status="active")
        near = self.memory.search(SearchRequest(text=memory.asked, k=LOOKED_AT, where=where))
        return [one.memory for one in near if one.memory.concepts and one.memory.id != memory.id][:EXAMPLES]


def register(app: Celery, services: Callable[[], StageServices], extracting: Callable[[], Extracting]) -> None:
    """Register the task; what it needs is built when the first message comes."""
    stage = Stage(
        "concepts.extract",
        "extract",
        ExtractTask,
        lambda journey, task: extracting().run(journey, task),
        journey_at=("journey",),
        kept=None,  # it says nothing of what became of the pair
    )
    add_stage(app, stage, services)
