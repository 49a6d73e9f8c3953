"""Which pools there are: those with memories, and those of the agents that are there."""

from __future__ import annotations

from collections.abc import Callable, Collection

import redis

from memshare_broker.errors import BadInput
from memshare_broker.presence import present
from memshare_memory.stores.store import Store, Where


class KnownPools:
    """Tells a pool's name from a slip of the pen. A name that was known once stays known in this process."""

    def __init__(self, client: redis.Redis, store: Callable[[], Store]) -> None:
        self._client = client
        self._store = store
        self._seen: frozenset[str] = frozenset()

    def require(self, pools: Collection[str]) -> None:
        """Raises `BadInput` for a pool that no memory is in and that no agent has which is there."""
        if self._seen.issuperset(pools):
            return
        self._seen |= set(self._store().count(Where()))
        self._seen |= {card.pool for worker in present(self._client) for card in worker.agents}
        unknown = sorted(set(pools) - self._seen)
        if unknown:
            there = f"There are: {', '.join(sorted(self._seen))}." if self._seen else "There is none yet."
            raise BadInput(f'No pool is called {unknown[0]!r}. {there} One is begun with "new_pool": true.')
