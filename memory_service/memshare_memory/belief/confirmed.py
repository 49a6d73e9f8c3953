"""Which memories are used in vain: no task that was shown them has gone well since, and nobody spoke for them."""

from __future__ import annotations

from collections.abc import Collection
from typing import cast
from uuid import UUID

import redis

_KEY = "memshare:unconfirmed:"  # of a pool, a sorted set: memory → since when (Unix time in seconds) it is used in vain


def note_used(client: redis.Redis, pool: str, memories: Collection[UUID], at: float, *, well: bool) -> None:
    """Note that memories were of use at a time, or were used and it did not go well."""
    names = [str(memory) for memory in memories]
    if names and well:
        client.zrem(_KEY + pool, *names)
    elif names:
        client.zadd(_KEY + pool, dict.fromkeys(names, at), nx=True)


def unconfirmed(client: redis.Redis, pool: str, before: float, most: int) -> dict[UUID, float]:
    """Memories that are used in vain since before a time, each with since when."""
    found = client.zrangebyscore(_KEY + pool, 0, before, start=0, num=most, withscores=True)
    return {UUID(name): since for name, since in cast("list[tuple[str, float]]", found)}
