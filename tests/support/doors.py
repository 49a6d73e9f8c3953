"""A memory service for tests: the real door over a pool of the test, in threads of the test's process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import redis

from memshare.broker.settings import Settings
from memshare.memory_service.curate.curate import Curate
from memshare.memory_service.curate.forgetting import Forgetting
from memshare.memory_service.door.app import door_app
from memshare.memory_service.door.client import MemoryClient
from memshare.memory_service.door.listening import listen
from memshare.memory_service.door.recalls import Recalls
from memshare.memory_service.door.server import DoorServer
from memshare.memory_service.door.service import Service
from memshare.memory_service.pool.known_pools import KnownPools
from memshare.memory_service.pool.pool import Pool


@contextmanager
def open_door(settings: Settings, pool: Pool, client: redis.Redis) -> Iterator[MemoryClient]:
    """Serve the pool where the settings say while the block runs, and ask it."""
    recalls = Recalls(pool)
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
