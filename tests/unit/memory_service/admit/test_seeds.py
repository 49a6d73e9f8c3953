"""The mean score of a pool's seeds, as it is kept in Redis."""

from __future__ import annotations

import pytest
import redis

from memshare_memory.admit.seeds import note_seeds, seeds_mean
from memshare_memory.memory import Memory
from memshare_memory.recall.recall import Recall
from memshare_memory.stores.store import Page, Store, Where
from tests.support.memories import remembered


class Unread:
    """A store that nobody may read."""

    def page(self, where: Where, *_: object) -> Page:
        raise AssertionError(f"the pool was read: {where}")


def seed(prompt: str, score: float, **fields: object) -> Memory:
    return remembered(prompt, score=score, **fields)[0]


def put(store: Store, recall: Recall, *memories: Memory) -> None:
    store.put(list(zip(memories, recall.vectors(list(memories)), strict=True)))


def test_noting_the_same_twice_is_noting_it_once(store: Store, recall: Recall, redis_client: redis.Redis) -> None:
    seeds = [seed("red lamp", 60), seed("old shoe", 90)]
    put(store, recall, *seeds)
    for _ in range(3):
        note_seeds(redis_client, store, there=seeds)

    assert seeds_mean(redis_client, "poem") == 75

    for _ in range(3):
        note_seeds(redis_client, store, there=(), gone=seeds[:1])

    assert seeds_mean(redis_client, "poem") == 90


def test_a_seed_that_is_replaced_counts_with_its_new_score(
    store: Store, recall: Recall, redis_client: redis.Redis
) -> None:
    before = seed("red lamp", 60)
    put(store, recall, before, seed("old shoe", 90))
    note_seeds(redis_client, store, there=[before])

    note_seeds(redis_client, store, there=[before.model_copy(update={"score": 80})], gone=[before])
    assert seeds_mean(redis_client, "poem") == 85

    note_seeds(redis_client, store, there=[before.model_copy(update={"task_id": "task"})], gone=[before])
    assert seeds_mean(redis_client, "poem") == 90


def test_a_pool_is_read_once_and_then_no_more(store: Store, recall: Recall, redis_client: redis.Redis) -> None:
    put(store, recall, *(seed(f"lamp {number}", 50) for number in range(9)), seed("of a task", 99, task_id="task"))
    redis_client.hset("memshare:seeds", "poem", "12")  # of a version that kept nothing but the mean

    note_seeds(redis_client, store, there=[seed("lamp 0", 50)])
    assert seeds_mean(redis_client, "poem") == 50

    unread: Store = Unread()  # type: ignore[assignment]
    note_seeds(redis_client, unread, there=[seed("green boat", 60)])
    assert seeds_mean(redis_client, "poem") == 51
    with pytest.raises(AssertionError, match="was read"):
        note_seeds(redis_client, unread, there=[seed("green boat", 60, pool="plan")])


def test_seeds_are_counted_anew_in_a_redis_that_lost_its_data(
    store: Store, recall: Recall, redis_client: redis.Redis
) -> None:
    memories = [seed(f"lamp {number}", number % 100) for number in range(2_300)]
    put(store, recall, *memories)
    note_seeds(redis_client, store, there=memories)
    mean = seeds_mean(redis_client, "poem")
    assert mean == pytest.approx(sum(memory.score or 0 for memory in memories) / len(memories))

    redis_client.flushall()
    note_seeds(redis_client, store, there=memories[-1:])

    assert seeds_mean(redis_client, "poem") == mean


def test_the_last_seed_takes_the_mean_with_it(store: Store, recall: Recall, redis_client: redis.Redis) -> None:
    only = seed("red lamp", 60)
    put(store, recall, only)
    note_seeds(redis_client, store, there=[only])
    assert redis_client.keys("memshare:seeds*")

    note_seeds(redis_client, store, there=(), gone=[only])

    assert seeds_mean(redis_client, "poem") is None
    assert redis_client.keys("memshare:seeds*") == []
