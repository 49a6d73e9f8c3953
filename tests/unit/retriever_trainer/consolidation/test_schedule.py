from __future__ import annotations

import json

import pytest
import redis

from memshare_broker.observe.metrics import POOLS
from memshare_trainer.consolidation.consolidation_state import MOST_MEMORIES, is_suggested, memories, next_at, starts


@pytest.mark.parametrize(("last", "due"), [(0, 100), (60, 100), (100, 150), (151, 227)])
def test_the_first_is_at_100_lessons_and_each_other_one_when_they_have_grown_by_half(last: int, due: int) -> None:
    assert next_at(last) == due
    assert starts(due, last, memories=500)
    assert not starts(due - 1, last, memories=500)


def test_a_large_pool_waits_for_somebody() -> None:
    assert starts(100, 0, MOST_MEMORIES)
    assert not is_suggested(100, 0, MOST_MEMORIES)
    assert not starts(100, 0, MOST_MEMORIES + 1)
    assert is_suggested(100, 0, MOST_MEMORIES + 1)
    assert not is_suggested(99, 0, MOST_MEMORIES + 1)


def test_the_memories_of_all_pools_count(redis_client: redis.Redis) -> None:
    assert memories(redis_client) == 0
    redis_client.set(POOLS, json.dumps({"poem": {"active": 3, "retired": 1}, "logic": {"active": 2}}))

    assert memories(redis_client) == 6
