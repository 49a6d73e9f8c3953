"""Seeds: the pairs that a pool was begun with, of which some rubrics take the mean score as their threshold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import redis

from memshare_broker.scripts import Script
from memshare_memory.memory import Memory
from memshare_memory.stores.store import Store, Where, every

MEANS = "memshare:seeds"  # hash: pool → mean score of its seeds
_SUMS = "memshare:seeds:sums"  # hash: pool → sum of their scores
NOTE_SEEDS = Script(__file__, "note_seeds", sums=_SUMS, means=MEANS)
_AT_ONCE = 1_000  # Redis serves nobody else while a script runs


def is_seed(memory: Memory) -> bool:
    """True if a memory came with a score and without a task."""
    return memory.task_id is None and memory.score is not None


def note_seeds(client: redis.Redis, store: Store, there: Iterable[Memory], gone: Iterable[Memory] = ()) -> None:
    """Keep the mean score of the seeds of each pool, after some memories were written and others removed.

    Redis knows the score of every seed, so that no pool is read, but for one of which it knows none.
    """
    scores: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for memory in gone:
        if is_seed(memory):
            scores[memory.pool][str(memory.id)] = ""
    for memory in there:
        if is_seed(memory):
            scores[memory.pool][str(memory.id)] = repr(memory.score)
    for pool, changed in scores.items():
        if not _note(client, pool, changed, is_all=False):
            seeds = (memory for memory in every(store, Where(pool=pool, without_task=True)) if is_seed(memory))
            _note(client, pool, {str(memory.id): repr(memory.score) for memory in seeds}, is_all=True)


def _note(client: redis.Redis, pool: str, scores: dict[str, str], *, is_all: bool) -> bool:
    pairs = list(scores.items())
    for start in range(0, len(pairs) or 1, _AT_ONCE):
        words = [word for pair in pairs[start : start + _AT_ONCE] for word in pair]
        begins, key = is_all and start == 0, f"memshare:seeds:scores:{pool}"
        if not NOTE_SEEDS(client, scores=key, pool=pool, is_all=begins, seeds=words):
            return False
    return True


def seeds_mean(client: redis.Redis, pool: str) -> float | None:
    """The mean score of a pool's seeds; None without any."""
    text = client.hget(MEANS, pool)
    return float(text) if text else None
