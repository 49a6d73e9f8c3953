"""The Celery task of the queue `concepts`: `concepts.extract` asks a model which concepts a memory has."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from celery import Celery

from memshare_broker.delivery.hops import EXTRACT, NOTE_CONCEPTS
from memshare_broker.delivery.stage import Outcome, Stage
from memshare_broker.delivery.stage_task import StageServices, add_stage
from memshare_broker.errors import GiveUp
from memshare_broker.observe.logs import ids
from memshare_broker.wire.extractions import Extracted, ExtractTask
from memshare_broker.wire.messages import Usage
from memshare_concepts.batches import Batches, Waiting
from memshare_concepts.extraction import extract, fit_together, stored
from memshare_llm.chat import Chat, UselessReply
from memshare_llm.limits.metered import Metering, Payer
from memshare_llm.no_model import has_model
from memshare_llm.structured import DoesNotFit
from memshare_memory.door.client import MemoryClient
from memshare_memory.door.messages import SearchRequest
from memshare_memory.memory import Memory, memory_id
from memshare_memory.stores.store import Where

log = logging.getLogger(__name__)

EXAMPLES, EXAMPLES_OF_MANY = 3, 6
LOOKED_AT = 12  # memories, the nearest ones, of which the first with concepts are examples


@dataclass(frozen=True)
class Extracting:
    """The concept worker at work, with its model and its connection to the memory service."""

    chat: Chat
    memory: MemoryClient
    metering: Metering
    check_caps: Callable[[str, str], None]
    """Raises `NotYet` where the cap of an agent or of a submitter is reached."""
    batches: Batches

    def run(self, journey: str, task: ExtractTask) -> Outcome:
        """Ask for the concepts of a memory as it is now, with those that wait for theirs; or wait itself.

        One that is gone, or has some, is not asked about, and without a model none is.
        """
        nothing = Extracted(journey=journey, pool=task.pool, memory_id=task.memory_id)
        if not has_model(self.chat):
            return Outcome(nothing, ended="no model")
        found = self.memory.page(Where(ids=[task.memory_id]), 1).memories
        if not found or found[0].concepts:
            self.batches.leave(task)
            return Outcome(nothing, ended="known" if found else "gone")
        extracted = self.batches.said(journey)
        if extracted is None:
            self.check_caps(task.agent, task.submitter)
            extracted = self._ask(found[0], self.batches.gather(task))
        log.info("Named its concepts.", extra=ids(task_id=journey, memory_id=task.memory_id, pool=task.pool))
        return Outcome(extracted, NOTE_CONCEPTS.next(extracted), "named")

    def _ask(self, memory: Memory, waited: Sequence[Waiting]) -> Extracted:
        """What a model says of a memory, the first; what it says of the others is told to their messages."""
        (task, _), *rest = waited
        try:
            there = {one.id: one for one in self._unnamed(rest)}
            together = fit_together([memory, *(one for one in there.values() if one.id != memory.id)])
            asked_with = {one.id for one in together}
            others = [one for one in rest if one.task.memory_id in asked_with]
            with self.metering(self.chat, Payer(task.journey, task.agent, task.submitter)) as chat:
                try:
                    asked = extract(chat, together, self._examples(together))
                except (DoesNotFit, UselessReply, GiveUp):
                    if len(together) == 1:
                        raise
                    # One of them may be what the model will not speak of.
                    self.batches.part(others)
                    together, others = [memory], []
                    asked = extract(chat, together, self._examples(together))
        except Exception:
            self.batches.give_back(waited)
            raise
        named = dict(zip([one.id for one in together], asked.hierarchies, strict=True))
        texts = {one.id: memory_id(one.pool, one.prompt, one.answer) for one in together}
        shares = _shared(asked.usage, 1 + len(others))
        own, *of_others = [
            Extracted(
                journey=one.journey,
                pool=one.pool,
                memory_id=one.memory_id,
                said=texts[one.memory_id],
                concepts=stored(named[one.memory_id]),
                model=asked.model,
                usage=share,
            )
            for one, share in zip([task, *(one.task for one in others)], shares, strict=True)
        ]
        self.batches.tell(of_others)
        self.batches.give_back([one for one in rest if one.task.memory_id not in asked_with])
        return own

    def _unnamed(self, waited: Sequence[Waiting]) -> list[Memory]:
        """The memories that waited, as they are now; none that is gone or has concepts."""
        wanted = [one.task.memory_id for one in waited]
        found = self.memory.page(Where(ids=wanted), len(wanted)).memories if wanted else []
        return [memory for memory in found if not memory.concepts]

    def _examples(self, memories: Sequence[Memory]) -> list[Memory]:
        """The nearest memories of the pool that have concepts: those that are nearest to each one first."""
        near = [self._near(memory) for memory in memories]
        in_turn = [one for some in zip_longest(*near) for one in some if one is not None]
        most = EXAMPLES if len(memories) == 1 else EXAMPLES_OF_MANY
        return list({one.id: one for one in in_turn}.values())[:most]

    def _near(self, memory: Memory) -> list[Memory]:
        where = Where(pool=memory.pool, status="active")
        near = self.memory.search(SearchRequest(text=memory.asked, k=LOOKED_AT, where=where))
        return [one.memory for one in near if one.memory.concepts and one.memory.id != memory.id][:EXAMPLES]


def _shared(usage: Usage, count: int) -> list[Usage]:
    """Tokens in equal parts; the first has what is left over."""
    prompt, completion = usage.prompt_tokens // count, usage.completion_tokens // count
    part = Usage(prompt_tokens=prompt, completion_tokens=completion)
    first = Usage(
        prompt_tokens=usage.prompt_tokens - prompt * (count - 1),
        completion_tokens=usage.completion_tokens - completion * (count - 1),
    )
    return [first, *[part] * (count - 1)]


def register(app: Celery, services: Callable[[], StageServices], extracting: Callable[[], Extracting]) -> None:
    """Register the task; what it needs is built when the first message comes."""
    add_stage(app, Stage(EXTRACT, lambda journey, task: extracting().run(journey, task)), services)
