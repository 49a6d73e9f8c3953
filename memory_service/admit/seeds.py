"""Seeds: the pairs that a pool was begun with, of which some rubrics take the mean score as their threshold."""

from __future__ import annotations

from collections.abc import Iterable

import redis

from memshare.memory_service.memory import Memory
from memshare.memory_service.stores.store import Store, Where, every

SEEDS = "memshare:seeds"  # hash: pool → mean score of its seeds


def is_seed(memory: Memory) -> bool:
    """Whether a memory came with a score and without a task."""
    return memory.task_id is None and memory.score is not None


def note_seeds(client: redis.Redis, store: Store, changed: Iterable[Memory]) -> None:
    """Write down the mean score of the seeds of each pool of which a seed was added, changed or removed."""
    for pool in {memory.pool for memory in changed if is_seed(memory)}:
        brought_in = every(store, Where(pool=pool, without_task=True))
        scores = [memory.score for memory in brought_in if memory.score is not None]
        if scores:
            client.hset(SEEDS, pool, str(sum(scores) / len(scores)))
        else:
            client.hdel(SEEDS, pool)


def seeds_mean(client: redis.Redis, pool: str) -> float | None:
    """The mean score of a pool's seeds; None without any."""
    text = client.hget(SEEDS, pool)
    return float(text) if text else None
