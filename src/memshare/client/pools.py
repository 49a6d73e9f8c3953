"""Which pools there are, and which of some memories they have already."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from memshare.client.client import Client
from memshare_memory.door.client import BATCH
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
