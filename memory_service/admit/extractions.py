"""Concepts of memories: asked for when a memory is written, and written when they are known."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Literal

from memshare.broker.app import CONCEPTS_QUEUE
from memshare.broker.delivery.stage import Following, Outcome
from memshare.broker.observe.logs import ids
from memshare.broker.wire.extractions import Extracted, ExtractTask, NotedConcepts
from memshare.broker.wire.messages import derived_id
from memshare.memory_service.memory import Memory, memory_id
from memshare.memory_service.pool.pool import Pool
from memshare.memory_service.recall.recall import sparse_of
from memshare.memory_service.stores.store import Store, Vectors, Where

log = logging.getLogger(__name__)


def extraction(memory: Memory, journey: str | None = None) -> Following:
    """The message that asks for a memory's concepts, in the journey of the task that made it or in one of its own.

    In its own it is the same message as long as the memory says the same.
    """
    text = str(memory_id(memory.pool, memory.prompt, memory.answer))
    since = f"{memory.created!r} {len(memory.history)}"
    own = journey or str(derived_id("extract", str(memory.id), text, since))
    task = ExtractTask(
        journey=own, pool=memory.pool, memory_id=memory.id, agent=memory.agent or "", submitter=memory.submitter
    )
    return Following("concepts.extract", CONCEPTS_QUEUE, "extract", task, own)


def needing(store: Store, memories: Iterable[Memory]) -> list[Memory]:
    """Those of some memories, as the store has them now, whose concepts are not known.

    Passages of documents get none by themselves: a long document would be hundreds of calls.
    """
    wanted = [memory.id for memory in memories if not memory.is_passage]
    found = store.page(Where(ids=wanted), len(wanted)).memories if wanted else []
    return [memory for memory in found if not memory.concepts]


def note_concepts(pool: Pool, extracted: Extracted) -> Outcome:
    """Write the concepts of a memory, if it is there, says what they are of, and has none yet."""
    noted = NotedConcepts(memory_id=extracted.memory_id, outcome=_written(pool, extracted))
    about = ids(task_id=extracted.journey, memory_id=extracted.memory_id, pool=extracted.pool)
    log.info("Concepts: %s.", noted.outcome, extra=about)
    return Outcome(noted, ended=noted.outcome)


def _written(pool: Pool, extracted: Extracted) -> Literal["written", "known", "gone", "changed"]:
    with pool.writing(alone_in=extracted.pool) as recall:
        found = recall.store.page(Where(ids=[extracted.memory_id]), 1).memories
        vectors = recall.store.dense_of([extracted.memory_id])
        if not found or not vectors:
            return "gone"
        memory = found[0]
        if memory_id(memory.pool, memory.prompt, memory.answer) != extracted.said:
            return "changed"
        if memory.concepts:
            return "known"
        changed = memory.model_copy(update={"concepts": extracted.concepts})
        recall.store.put([(changed, Vectors(vectors[memory.id], sparse_of(changed)))], in_place=True)
        return "written"
