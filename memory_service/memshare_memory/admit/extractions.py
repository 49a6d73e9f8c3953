"""Writes the concepts of memories when they are known."""

from __future__ import annotations

import logging
from typing import Literal

from memshare_broker.delivery.stage import Outcome
from memshare_broker.observe.logs import ids
from memshare_broker.wire.extractions import Extracted, NotedConcepts
from memshare_memory.memory import memory_id
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.recall import sparse_of
from memshare_memory.stores.store import Vectors, Where

log = logging.getLogger(__name__)


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
