from __future__ import annotations

from math import sqrt
from uuid import UUID

import pytest
import redis

from memshare_memory.belief.lift import Lift, LiftSums, drop_lift, lift_key, lifts, memory_lift, pool_lift

LAMP, BOAT = UUID(int=1), UUID(int=2)


@pytest.fixture
def sums(redis_client: redis.Redis) -> LiftSums:
    return LiftSums(redis_client, keep_days=0.5)


def test_the_lift_is_the_difference_of_the_means_with_the_error_of_welch(
    sums: LiftSums, redis_client: redis.Redis
) -> None:
    for number, score in enumerate((80.0, 90.0, 70.0, 80.0)):
        sums.count("poem", f"shown {number}", score, [LAMP, BOAT])
    for number in range(10):
        sums.count("poem", f"withheld {number}", 70.0 if number % 2 else 72.0, [BOAT], withheld=True)

    # Means 80 and 71; variances (0 + 100 + 100 + 0) / 3 and 10 · 1 / 9.
    error = sqrt(200 / 3 / 4 + 10 / 9 / 10)
    of_all = pool_lift(redis_client, "poem")
    assert (of_all.points, of_all.error) == (pytest.approx(9), pytest.approx(error))
    assert (of_all.shown, of_all.withheld, of_all.needed) == (4, 10, 10)
    of_boat = memory_lift(redis_client, "poem", BOAT)
    assert (of_boat.points, of_boat.error) == (pytest.approx(9), pytest.approx(error))
    assert memory_lift(redis_client, "poem", LAMP) == Lift(points=None, error=None, shown=4, withheld=0, needed=5)
    assert lifts(redis_client, ["poem", "logic"]) == {"poem": of_all}


@pytest.mark.parametrize(("withheld", "pool", "memory"), [(4, False, False), (5, False, True), (10, True, True)])
def test_a_lift_is_told_from_ten_tasks_of_a_pool_and_five_of_a_memory_on(
    sums: LiftSums, redis_client: redis.Redis, withheld: int, pool: bool, memory: bool
) -> None:
    for number in range(20):
        sums.count("poem", f"shown {number}", 60.0, [LAMP])
    for number in range(withheld):
        sums.count("poem", f"withheld {number}", 50.0, [LAMP], withheld=True)

    assert (pool_lift(redis_client, "poem").points is not None) is pool
    assert (memory_lift(redis_client, "poem", LAMP).points is not None) is memory


def test_a_lift_needs_two_tasks_that_were_shown_everything(sums: LiftSums, redis_client: redis.Redis) -> None:
    for number in range(10):
        sums.count("poem", f"withheld {number}", 50.0, [LAMP], withheld=True)
    sums.count("poem", "one", 60.0, [LAMP])

    assert pool_lift(redis_client, "poem").points is None


def test_a_task_counts_once_and_keeps_its_side(sums: LiftSums, redis_client: redis.Redis) -> None:
    counted = [
        sums.count("poem", "one", 80.5, [LAMP]),
        sums.count("poem", "one", 80.5, [LAMP]),
        sums.count("poem", "one", 80.5, [LAMP], withheld=True),
    ]

    assert counted == [True, False, False]
    assert redis_client.hgetall(lift_key("poem")) == dict.fromkeys(("pool", str(LAMP)), "1 80.5 6480.25 0 0 0")


def test_a_memory_that_is_dropped_leaves_the_sums_of_its_pool(sums: LiftSums, redis_client: redis.Redis) -> None:
    sums.count("poem", "one", 80.0, [LAMP, BOAT])

    drop_lift(redis_client, "poem", [LAMP])

    assert set(redis_client.hkeys(lift_key("poem"))) == {"pool", str(BOAT)}
