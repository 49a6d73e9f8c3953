"""What people bring in or change is compared with what it may contradict, as what agents write is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from uuid import UUID

import redis

from memshare.broker.delivery.stage import Following
from memshare.broker.wire.messages import derived_id
from memshare.memory_service.admit.comparisons import comparison, rivals_of
from memshare.memory_service.memory import SHOWN, Memory
from memshare.memory_service.recall.conflicts import Conflicts
from memshare.memory_service.stores.store import Store

Send = Callable[[Sequence[Following]], None]
"""Sends messages, each of a journey that it names, to their queues."""


class Comparing:
    """Asks for comparisons of the memories of all pools."""

    def __init__(self, client: redis.Redis, send: Send) -> None:
        self._conflicts = Conflicts(client)
        self._send = send

    def compare(self, store: Store, memories: Sequence[Memory]) -> None:
        """Compare memories that were written just now; every two of them once."""
        shown = [memory for memory in memories if memory.status in SHOWN]
        vectors = store.dense_of([memory.id for memory in shown])
        asked: defaultdict[UUID, set[UUID]] = defaultdict(set)
        messages = []
        for memory in shown:
            if memory.id not in vectors:
                continue  # somebody has forgotten it meanwhile
            others = rivals_of(store, self._conflicts, memory, vectors[memory.id], asked[memory.id])
            for other in others:
                asked[other.id].add(memory.id)
            if others:
                journey = str(derived_id("compare", *(f"{one.id} {one.key} {one.answer}" for one in (memory, *others))))
                messages.append(comparison(journey, memory, others)._replace(journey=journey))
        self._send(messages)
