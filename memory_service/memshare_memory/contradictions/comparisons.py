"""Which memories a new one is compared with, for what it claims may contradict theirs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from uuid import UUID

import numpy as np
import redis
from numpy.typing import NDArray

from memshare_broker.delivery.hops import COMPARE, NextMessage
from memshare_broker.presence import is_invented
from memshare_broker.wire.lessons import MOST, CompareTask, Said
from memshare_broker.wire.messages import derived_id
from memshare_memory.contradictions.conflicts import NEAR_CURATED, Conflicts, same_question
from memshare_memory.memory import Memory, folded
from memshare_memory.stores.store import Hit, Query, Store, Where

AT_ONCE = 32  # memories, whose neighbours are searched for in one batch

Send = Callable[[Sequence[NextMessage]], None]
"""Sends messages, each of a journey that it names, to their queues."""


class ComparisonRequests:
    """Asks for comparisons of the memories of all pools."""

    def __init__(self, client: redis.Redis, send: Send) -> None:
        self._client = client
        self._send = send

    def compare(self, store: Store, memories: Sequence[Memory]) -> None:
        """Compare memories that were written just now; every two of them once."""
        asked: defaultdict[UUID, set[UUID]] = defaultdict(set)
        messages = []
        for memory, near in _with_near(store, [memory for memory in memories if memory.status == "active"]):
            others = rivals_among(near, self._client, memory, asked[memory.id])
            for other in others:
                asked[other.id].add(memory.id)
            if others:
                journey = str(
                    derived_id("compare", *(f"{each.id} {each.key} {each.answer}" for each in (memory, *others)))
                )
                messages.append(comparison(journey, memory, others)._replace(journey=journey))
        self._send(messages)


def _with_near(store: Store, memories: Sequence[Memory]) -> Iterator[tuple[Memory, list[Hit]]]:
    """Memories, each with those near to it; a few at once, for whoever recalls waits for a search that runs."""
    for start in range(0, len(memories), AT_ONCE):
        vectors = store.dense_of([memory.id for memory in memories[start : start + AT_ONCE]])
        there = [memory for memory in memories[start : start + AT_ONCE] if memory.id in vectors]  # not forgotten since
        yield from zip(there, near_each(store, [(memory, vectors[memory.id]) for memory in there]), strict=True)


SAME_THING = 0.65  # cosine from which on a statement is compared: what contradicts it often has other words
LOOKED_AT = 12  # memories, the nearest ones


def rivals_of(store: Store, client: redis.Redis, memory: Memory, vector: NDArray[np.float32]) -> list[Memory]:
    """The memories that may contradict one: those that answer the same question or are about the same thing.

    At most `MOST`, the nearest ones; none that says the same or that was compared with it already, and none at all
    where the memory is made up.
    """
    [near] = near_each(store, [(memory, vector)])
    return rivals_among(near, client, memory)


def near_each(store: Store, memories: Sequence[tuple[Memory, NDArray[np.float32]]]) -> list[list[Hit]]:
    """Hits that are near enough to each memory to contradict it; its vector stands beside the memory."""
    queries = [
        Query(Where(pool=memory.pool, status="active"), LOOKED_AT, vector, at_least=SAME_THING)
        for memory, vector in memories
    ]
    return store.search(queries)


def rivals_among(
    near: Sequence[Hit], client: redis.Redis, memory: Memory, asked: Collection[UUID] = ()
) -> list[Memory]:
    """Rivals among the `near` hits, as `rivals_of` gives them, without those just `asked` about."""
    if memory.is_passage:  # a document may say what another one denies
        return []
    found = [
        hit.memory
        for hit in near
        if hit.similarity >= _least(memory, hit.memory)
        and not hit.memory.is_passage
        and hit.memory.id != memory.id
        and hit.memory.id not in asked
        and folded(hit.memory.answer) != folded(memory.answer)
    ]
    if not found or is_invented(client, memory.agent, memory.kind):
        return []
    known = Conflicts(client).judged(memory.pool, memory.id)
    return [other for other in found if other.id not in known][:MOST]


def _least(memory: Memory, other: Memory) -> float:
    """The cosine from which on two memories are compared: a fact has other words than the question it answers."""
    if None in (memory.prompt, other.prompt) or (memory.is_statement and other.is_statement):
        return SAME_THING
    if memory.is_statement or other.is_statement:
        return NEAR_CURATED
    return min(same_question(memory), same_question(other))


def comparison(journey: str, memory: Memory, others: Collection[Memory]) -> NextMessage:
    """The message that asks for it."""
    task = CompareTask(
        journey=journey,
        pool=memory.pool,
        agent=memory.agent or "",
        submitter=memory.submitter,
        memory=Said.of(memory.id, memory.prompt, memory.answer),
        others=tuple(Said.of(other.id, other.prompt, other.answer) for other in others),
    )
    return COMPARE.next(task)
