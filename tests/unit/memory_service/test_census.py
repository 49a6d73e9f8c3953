"""The census of the pools."""

import json

import redis

from broker.ledger import DONE
from broker.metrics import POOLS
from memory_service.census import Census
from memory_service.memory import Memory
from memory_service.recall import Recall
from memory_service.store import Store
from tests.support.memories import remembered


def put(store: Store, recall: Recall, *memories: Memory) -> None:
    store.put(list(zip(memories, recall.vectors(list(memories)), strict=True)))


def test_memories_are_counted_by_pool_and_status(store: Store, recall: Recall, redis_client: redis.Redis) -> None:
    put(
        store,
        recall,
        remembered("red lamp")[0],
        remembered("old shoe")[0],
        remembered("blue boat", status="probation")[0],
    )

    assert Census(redis_client, lambda: store).take()

    (sizes,) = json.loads(redis_client.get(POOLS)).values()
    assert sizes == {"active": 2, "probation": 1}


def test_it_is_not_taken_again_before_something_is_settled(
    store: Store, recall: Recall, redis_client: redis.Redis
) -> None:
    census = Census(redis_client, lambda: store)
    assert census.take()
    put(store, recall, remembered("red lamp")[0])
    assert not census.take()

    redis_client.hincrby(DONE, "settle", 1)

    assert census.take()
    assert sum(json.loads(redis_client.get(POOLS))["poem"].values()) == 1
