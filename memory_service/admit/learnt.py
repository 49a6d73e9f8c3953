"""Learnt statements: what an agent's sources taught a verified answer becomes knowledge of the pool, on probation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import redis
from numpy.typing import NDArray

from memshare.broker.delivery.stage import Following
from memshare.broker.wire.messages import AnsweredTask, Learnt, derived_id
from memshare.memory_service.admit.asked_concepts import extraction
from memshare.memory_service.admit.comparisons import comparison, rivals_of
from memshare.memory_service.memory import KNOWLEDGE, Memory, Status, memory_id
from memshare.memory_service.recall.conflicts import Conflicts
from memshare.memory_service.recall.recall import Recall
from memshare.memory_service.stores.store import Store, Where

SAME_STATEMENT = 0.95  # cosine of two statements from one source that say the same in other words
LOOKED_AT = 5  # statements of the pool, the nearest ones


class Kept(NamedTuple):
    """The memories that the statements of a task are, and the messages that follow from the new ones."""

    memories: tuple[Memory, ...]
    following: tuple[Following, ...]


def keep_learnt(
    recall: Recall, client: redis.Redis, task: AnsweredTask, status: Status, *, concepts: bool = False
) -> Kept:
    """Store what a task's sources taught; what the pool knows from the same source already is that memory.

    With `concepts`, those of the new ones are asked for."""
    new = [_memory(task, learnt, status) for learnt in task.learnt]
    vectors = recall.vectors(new) if new else []
    known = {one.id: one for one in _page(recall.store, new)}
    memories, following = [], []
    for memory, vector in zip(new, vectors, strict=True):
        there = known.get(memory.id) or _told_before(recall.store, memory, vector.dense)
        if there is None:
            recall.store.put([(memory, vector)])
            following += _compared(recall.store, client, task.journey, memory, vector.dense)
            following += [extraction(memory, _journey(task.journey, memory))] if concepts else []
        memories.append(there or memory)
    return Kept(tuple(memories), tuple(following))


def _memory(task: AnsweredTask, learnt: Learnt, status: Status) -> Memory:
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
        status=status,
    )


def _page(store: Store, memories: Iterable[Memory]) -> list[Memory]:
    ids = [memory.id for memory in memories]
    return store.page(Where(ids=ids), len(ids)).memories if ids else []


def _told_before(store: Store, memory: Memory, vector: NDArray[np.float32]) -> Memory | None:
    """What the pool has from the same source that says nearly the same, also where a person has hidden it."""
    near = store.search(Where(pool=memory.pool, kind=KNOWLEDGE), LOOKED_AT, dense=vector)
    same = [hit for hit in near if hit.memory.source == memory.source and hit.similarity >= SAME_STATEMENT]
    return same[0].memory if same else None


def _compared(
    store: Store, client: redis.Redis, task_id: str, memory: Memory, vector: NDArray[np.float32]
) -> list[Following]:
    others = rivals_of(store, Conflicts(client), memory, vector)
    journey = _journey(task_id, memory)
    return [comparison(journey, memory, others)._replace(journey=journey)] if others else []


def _journey(task_id: str, memory: Memory) -> str:
    """The id of a journey of its own for what a task's sources taught."""
    return str(derived_id(task_id, "learnt", str(memory.id)))
