"""Learnt statements: what an agent's sources taught a verified answer becomes knowledge of the pool."""

from __future__ import annotations

import logging
from typing import NamedTuple

import numpy as np
import redis
from numpy.typing import NDArray

from memshare_broker.delivery.hops import NextMessage
from memshare_broker.observe.logs import ids
from memshare_broker.settings import PROMPT_LIMIT
from memshare_broker.wire.messages import AnsweredTask, Learnt, derived_id
from memshare_memory.admit.asked_concepts import extraction
from memshare_memory.admit.comparisons import comparison, rivals_of
from memshare_memory.memory import KNOWLEDGE, Memory, memory_id
from memshare_memory.recall.recall import Recall
from memshare_memory.stores.pages import by_ids
from memshare_memory.stores.store import Store, Where, search_one

log = logging.getLogger(__name__)

SAME_STATEMENT = 0.95  # cosine of two statements from one source that say the same in other words
LOOKED_AT = 5  # statements of the pool, the nearest ones


class StoredStatements(NamedTuple):
    """The memories that the statements of a task are, and the messages that follow from the new ones."""

    memories: tuple[Memory, ...]
    following: tuple[NextMessage, ...]


def keep_learnt(
    recall: Recall, client: redis.Redis, task: AnsweredTask, *, concepts: bool = False, text_limit: int = PROMPT_LIMIT
) -> StoredStatements:
    """Store what a task's sources taught; what the pool knows from the same source already is that memory.

    With `concepts`, those of the new ones are asked for. What follows has a journey of its own for each. Statements of
    more than `text_limit` characters are left out.
    """
    new = [_memory(task, learnt) for learnt in task.learnt if len(learnt.statement) <= text_limit]
    if left_out := len(task.learnt) - len(new):
        log.warning(
            "Left out %d statements of over %d characters.", left_out, text_limit, extra=ids(task_id=task.journey)
        )
    vectors = recall.vectors(new) if new else []
    known = by_ids(recall.store, [memory.id for memory in new])
    memories, following = list[Memory](), list[NextMessage]()
    for memory, vector in zip(new, vectors, strict=True):
        there = known.get(memory.id) or _told_before(recall.store, memory, vector.dense)
        if there is None:
            recall.store.put([(memory, vector)])
            journey = str(derived_id(task.journey, "learnt", str(memory.id)))
            if others := rivals_of(recall.store, client, memory, vector.dense):
                following.append(comparison(journey, memory, others)._replace(journey=journey))
            if concepts:
                following.append(extraction(memory, journey))
        memories.append(there or memory)
    return StoredStatements(tuple(memories), tuple(following))


def _memory(task: AnsweredTask, learnt: Learnt) -> Memory:
    return Memory(
        id=memory_id(task.pool, None, learnt.statement),
        pool=task.pool,
        prompt=None,
        answer=learnt.statement,
        agent=task.agent,
        kind=KNOWLEDGE,
        submitter=task.submitter,
        model=task.model,
        task_id=task.journey,
        source=learnt.source,
        parents=learnt.parents,
        created=learnt.read,
    )


def _told_before(store: Store, memory: Memory, vector: NDArray[np.float32]) -> Memory | None:
    """What the pool has from the same source that says nearly the same, also where a person has hidden it."""
    near = search_one(store, Where(pool=memory.pool, kind=KNOWLEDGE), LOOKED_AT, dense=vector)
    same = [hit for hit in near if hit.memory.source == memory.source and hit.similarity >= SAME_STATEMENT]
    return same[0].memory if same else None
