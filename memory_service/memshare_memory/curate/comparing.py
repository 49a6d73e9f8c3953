"""What people bring in or change is compared with what it may contradict, as what agents write is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from uuid import UUID

import redis

from memshare_broker.delivery.hops import NextMessage
from memshare_broker.wire.messages import derived_id
from memshare_memory.admit.comparisons import comparison, near_each, rivals_among
from memshare_memory.memory import Memory
from memshare_memory.stores.store import Hit, Store

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
                journey = str(derived_id("compare", *(f"{one.id} {one.key} {one.answer}" for one in (memory, *others))))
                messages.append(comparison(journey, memory, others)._replace(journey=journey))
        self._send(messages)


def _with_near(store: Store, memories: Sequence[Memory]) -> Iterator[tuple[Memory, list[Hit]]]:
    """Memories, each with those near to it; a few at once, for whoever recalls waits for a search that runs."""
    for start in range(0, len(memories), AT_ONCE):
        vectors = store.dense_of([memory.id for memory in memories[start : start + AT_ONCE]])
        there = [memory for memory in memories[start : start + AT_ONCE] if memory.id in vectors]  # not forgotten since
        yield from zip(there, near_each(store, [(memory, vectors[memory.id]) for memory in there]), strict=True)
