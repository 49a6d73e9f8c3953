"""Which pools there are, those with memories and those of the agents that are there, and how many memories each has.

Beside it are the jobs and replies of processes that fill a store, or look at one.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Collection
from typing import get_args

import redis

from memshare_broker.delivery.hops import SETTLE
from memshare_broker.delivery.ledger import count_ended
from memshare_broker.errors import BadInput
from memshare_broker.observe.metrics import POOLS
from memshare_broker.presence import present
from memshare_broker.wire.messages import Message
from memshare_memory.memory import Status
from memshare_memory.stores.store import Store, Where

RESTORING = "memshare:restoring"  # the file that is restored; there from the first change to the last


def require_whole(client: redis.Redis) -> None:
    """Raise `BadInput` where a restore was broken off."""
    found = client.get(RESTORING)
    if found is not None:
        file = str(found)
        raise BadInput(
            f"A restore from {file!r} was broken off, so this deployment is incomplete. Run it again:"
            f" memshare restore {file}"
        )


class KnownPools:
    """Tells a pool's name from a slip of the pen. A name that was known once stays known in this process."""

    def __init__(self, client: redis.Redis, store: Callable[[], Store]) -> None:
        self._client = client
        self._store = store
        self._seen: frozenset[str] = frozenset()

    def are_known(self, pools: Collection[str]) -> bool:
        """True if all of these are known already; nobody is asked."""
        return self._seen.issuperset(pools)

    def require(self, pools: Collection[str]) -> None:
        """Raises `BadInput` for a pool that no memory is in and that no agent has which is there."""
        if self.are_known(pools):
            return
        self._seen |= set(self._store().count(Where()))
        cards = (card for worker in present(self._client) for card in worker.agents)
        self._seen |= {pool for card in cards for pool in card.shared}
        unknown = sorted(set(pools) - self._seen)
        if unknown:
            there = f"There are: {', '.join(sorted(self._seen))}." if self._seen else "There is none yet."
            raise BadInput(f'No pool is called {unknown[0]!r}. {there} To add to a new one, say "new_pool": true.')


AT_LEAST_EVERY = 60.0  # seconds: people change a pool without a message of the ledger


class PoolSizes:
    """Notes how many memories each pool has in Redis, for those who do not own the store.

    Counts again when pairs have been settled since the last time, or a minute has passed.
    """

    def __init__(self, client: redis.Redis, store: Callable[[], Store]) -> None:
        self._client = client
        self._store = store
        self._settled: object = None
        self._taken = float("-inf")

    def take(self) -> bool:
        """Count if it is time to; returns whether it was."""
        settled = count_ended(self._client, SETTLE.name)
        if settled == self._settled and time.monotonic() - self._taken < AT_LEAST_EVERY:
            return False
        pools: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for status in get_args(Status):
            for pool, memories in self._store().count(Where(status=status)).items():
                pools[pool][status] = memories
        self._client.set(POOLS, json.dumps(pools))
        self._settled, self._taken = settled, time.monotonic()
        return True


class RefillJob(Message):
    """Fill the store of a folder, which is made for it, or without one the store on the Qdrant server of the settings.

    That one must be empty, unless what it has may be replaced.
    """

    encoder: str
    folder: str | None
    replace: bool


class Refilled(Message):
    """How many memories were written, and how many could not be read and were left out; or why nothing was done."""

    written: int = 0
    left_out: int = 0
    error: str | None = None


class Salvaged(Message):
    """Why the pool does not open, if it does not, and how many memories it has or were saved of it.

    `left_out` could not be read, and `kept` is the folder of the damaged files, once a new pool is in their place.
    """

    memories: int
    damage: str | None = None
    left_out: int = 0
    kept: str | None = None
