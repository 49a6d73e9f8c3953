"""What memories have been worth, and what contradicts them: dropped with them, and put back with them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import NamedTuple
from uuid import UUID

import redis

from memshare.memory_service.memory import Memory
from memshare.memory_service.recall.bandit_arms import arms_key
from memshare.memory_service.recall.credibility_ranking import CredibilityRanking


class Worth(NamedTuple):
    """The arm of a memory as it lies in Redis (None where it was never credited), and what contradicts it."""

    arm: str | None
    rivals: tuple[UUID, ...]


class Worths:
    """What the memories of all pools have been worth, in one Redis."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._ranking = CredibilityRanking(client)

    def of(self, memories: Iterable[Memory]) -> dict[UUID, Worth]:
        """What each of some memories has been worth."""
        found: dict[UUID, Worth] = {}
        for pool, some in by_pool(memories):
            ids = [memory.id for memory in some]
            arms = self._ranking.arms.ask(self._client, pool, ids)
            rivals = self._ranking.conflicts.rivals(pool, ids)
            found |= {one: Worth(arm, tuple(rivals.get(one, ()))) for one, arm in zip(ids, arms, strict=True)}
        return found

    def put_back(self, memory: Memory, worth: Worth, there: Collection[UUID]) -> None:
        """Give a memory what it had been worth, and link it with those of its rivals that are `there`."""
        if worth.arm is not None:
            self._client.hsetnx(arms_key(memory.pool), str(memory.id), worth.arm)
        for rival in worth.rivals:
            if rival in there:
                self._ranking.conflicts.link(memory.pool, memory.id, rival)

    def drop(self, memories: Iterable[Memory]) -> None:
        """What was said of these memories says nothing of what they are now."""
        for pool, some in by_pool(memories):
            ids = [memory.id for memory in some]
            self._ranking.arms.drop(pool, ids)
            self._ranking.conflicts.drop(pool, ids)


def by_pool(memories: Iterable[Memory]) -> list[tuple[str, list[Memory]]]:
    """Memories by their pool, in the order of the pools' names."""
    pools: defaultdict[str, list[Memory]] = defaultdict(list)
    for memory in memories:
        pools[memory.pool].append(memory)
    return sorted(pools.items())
