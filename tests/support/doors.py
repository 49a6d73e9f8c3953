"""A memory service for tests: the real door over a pool of the test, in threads of the test's process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import redis

from memshare_broker.settings import Settings
from memshare_memory.curate.curate import Curate
from memshare_memory.curate.forgetting import Forgetting
from memshare_memory.door.app import DoorServer, door_app
from memshare_memory.door.client import MemoryClient, listen
from memshare_memory.door.service import RecallBatches, Service
from memshare_memory.pool.known_pools import KnownPools
from memshare_memory.pool.pool import Pool


@contextmanager
def open_door(settings: Settings, pool: Pool, client: redis.Redis) -> Iterator[MemoryClient]:
    """Serve the pool where the settings say while the block runs, and ask it."""
    recalls = RecallBatches(pool)
    token = settings.memory_token.get_secret_value() if settings.memory_token else None
    service = Service(pool, Curate(pool, client), Forgetting(pool, client), KnownPools(client, lambda: pool().store))
    door = DoorServer(door_app(service, recalls, token), listen(settings))
    door.start()
    asking = MemoryClient(settings)
    try:
        yield asking
    finally:
        asking.close()
        door.close()
        recalls.close()
