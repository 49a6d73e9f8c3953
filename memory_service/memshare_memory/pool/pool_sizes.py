"""Pool sizes: how many memories each pool has, noted in Redis for those who do not own the store."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable
from typing import get_args

import redis

from memshare_broker.delivery.keys import DONE
from memshare_broker.observe.metrics import POOLS
from memshare_memory.memory import Status
from memshare_memory.stores.store import Store, Where

AT_LEAST_EVERY = 60.0  # seconds: people change a pool without a message of the ledger


class PoolSizes:
    """Counts again when pairs have been settled since the last time, or a minute has passed."""

    def __init__(self, client: redis.Redis, store: Callable[[], Store]) -> None:
        self._client = client
        self._store = store
        self._settled: object = None
        self._taken = float("-inf")

    def take(self) -> bool:
        """Count if it is time to; returns whether it was."""
        settled = self._client.hget(DONE, "settle")
        if settled == self._settled and time.monotonic() - self._taken < AT_LEAST_EVERY:
            return False
        pools: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for status in get_args(Status):
            for pool, memories in self._store().count(Where(status=status)).items():
                pools[pool][status] = memories
        self._client.set(POOLS, json.dumps(pools))
        self._settled, self._taken = settled, time.monotonic()
        return True
