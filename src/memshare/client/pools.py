"""Which pools there are, which of some memories they have already, and whose vectors."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import redis

from memshare.client.client import Client
from memshare_broker.settings import Settings
from memshare_memory.door.client import BATCH
from memshare_memory.encoders.encoder import ENCODER, first_name
from memshare_memory.stores.store import Where


def pools_known(client: Client) -> set[str]:
    """The pools that an agent has or a memory is in."""
    return {card.pool for card in client.agents().values()} | set(client.memories.stats().by_pool)


def new_ids(client: Client, ids: Sequence[UUID]) -> set[UUID]:
    """Those of these memories that the service does not have yet."""
    wanted = list(dict.fromkeys(ids))
    parts = [wanted[start : start + BATCH] for start in range(0, len(wanted), BATCH)]
    there = {one.id for part in parts for one in client.memories.page(Where(ids=part), BATCH).memories}
    return set(wanted) - there


def encoder_in_use(settings: Settings, client: redis.Redis) -> str:
    """The name of the encoder whose vectors the pool has, or will have."""
    return str(client.get(ENCODER) or first_name(settings))
