"""How many memories each pool has, as Redis is told."""

import json

import redis

from memshare_broker.delivery.schema import DONE
from memshare_broker.observe.metrics import POOLS
from memshare_memory.memory import Memory
from memshare_memory.pool.known_pools import PoolSizes
from memshare_memory.recall.recall import Recall
from memshare_memory.stores.store import Store
from tests.support.memories import remembered


def put(store: Store, recall: Recall, *memories: Memory) -> None:
    store.put(list(zip(memories, recall.vectors(list(memories)), strict=True)))


def test_memories_are_counted_by_pool_and_status(store: Store, recall: Recall, redis_client: redis.Redis) -> None:
    put(
        store,
        recall,
        remembered("red lamp")[0],
        remembered("old shoe")[0],
        remembered("blue boat", status="hidden")[0],
    )

    assert PoolSizes(redis_client, lambda: store).take()

    (sizes,) = json.loads(redis_client.get(POOLS)).values()
    assert sizes == {"active": 2, "hidden": 1}


def test_it_is_not_taken_again_before_something_is_settled(
    store: Store, recall: Recall, redis_client: redis.Redis
) -> None:
    pool_sizes = PoolSizes(redis_client, lambda: store)
    assert pool_sizes.take()
    put(store, recall, remembered("red lamp")[0])
    assert not pool_sizes.take()

    redis_client.hincrby(DONE, "settle", 1)

    assert pool_sizes.take()
    assert sum(json.loads(redis_client.get(POOLS))["poem"].values()) == 1
