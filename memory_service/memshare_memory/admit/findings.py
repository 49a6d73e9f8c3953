"""Writes what other parts found out of memories: their concepts, and which of them contradict each other."""

from __future__ import annotations

import logging
from typing import Literal

import redis

from memshare_broker.delivery.stage import Outcome
from memshare_broker.observe.logs import ids
from memshare_broker.wire.lessons import ComparedPairs, Extracted, NotedConcepts, NotedPairs
from memshare_memory.memory import memory_id
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.conflicts import Conflicts
from memshare_memory.recall.recall import sparse_of
from memshare_memory.stores.store import Vectors, by_ids

log = logging.getLogger(__name__)


def note_concepts(pool: Pool, extracted: Extracted) -> Outcome:
    """Write the concepts of a memory, if it is there, says what they are of, and has none yet."""
    noted = NotedConcepts(memory_id=extracted.memory_id, outcome=_written(pool, extracted))
    about = ids(task_id=extracted.journey, memory_id=extracted.memory_id, pool=extracted.pool)
    log.info("Concepts: %s.", noted.outcome, extra=about)
    return Outcome(noted, ended=noted.outcome)


def _written(pool: Pool, extracted: Extracted) -> Literal["written", "known", "gone", "changed"]:
    with pool.writing(alone_in=extracted.pool) as recall:
        memory = by_ids(recall.store, [extracted.memory_id]).get(extracted.memory_id)
        vectors = recall.store.dense_of([extracted.memory_id])
        if memory is None or not vectors:
            return "gone"
        if memory_id(memory.pool, memory.prompt, memory.answer) != extracted.said:
            return "changed"
        if memory.concepts:
            return "known"
        changed = memory.model_copy(update={"concepts": extracted.concepts})
        recall.store.put([(changed, Vectors(vectors[memory.id], sparse_of(changed)))], in_place=True)
        return "written"


def note_compared(pool: Pool, client: redis.Redis, pairs: ComparedPairs) -> Outcome:
    """Note what a model said of each pair, but for those of which a memory was forgotten meanwhile."""
    compared = pairs.compared
    with pool.writing() as recall:
        there = by_ids(recall.store, [compared.memory_id, *pairs.others])
        others = [one for one in pairs.others if one in there] if compared.memory_id in there else []
        Conflicts(client).note(pairs.pool, compared, others)
    return Outcome(NotedPairs(memory_id=compared.memory_id, noted=len(others)), ended="noted" if others else "gone")
