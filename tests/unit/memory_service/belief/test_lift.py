from __future__ import annotations

from math import sqrt
from uuid import UUID

import pytest
import redis

from memshare_memory.belief.lift import (
    Lift,
    LiftSums,
    Side,
    TaskGroup,
    drop_lift,
    groups,
    lift_key,
    memory_lift,
    without_grade,
)

LAMP, BOAT = UUID(int=1), UUID(int=2)
ONE = TaskGroup("one withheld", "poem", "limerick", "openai:m")
NAME = "one withheld\x1fpoem\x1flimerick\x1fopenai:m"


@pytest.fixture
def sums(redis_client: redis.Redis) -> LiftSums:
    return LiftSums(redis_client, keep_days=0.5)


def test_the_lift_is_the_difference_of_the_means_with_its_error(sums: LiftSums, redis_client: redis.Redis) -> None:
    for number, score in enumerate((80.0, 90.0, 70.0, 80.0) * 3):
        sums.count("poem", f"shown {number}", score, ONE, [LAMP, BOAT], withheld=False)
    for number in range(10):
        sums.count("poem", f"withheld {number}", 70.0 if number % 2 else 72.0, ONE, [BOAT], withheld=True)

    # Means 80 and 71; variances 3 · (0 + 100 + 100 + 0) / 11 and 10 · 1 / 9, which is less than that of both.
    error = sqrt(600 / 11 / 12 + (600 + 10) / 20 / 10)
    of_boat = memory_lift(redis_client, "poem", BOAT)
    assert (of_boat.points, of_boat.error) == (pytest.approx(9), pytest.approx(error))
    assert (of_boat.shown, of_boat.withheld, of_boat.needed) == (12, 10, 10)
    assert memory_lift(redis_client, "poem", LAMP) == Lift(points=None, error=None, shown=12, withheld=0, needed=10)


def test_tasks_are_counted_by_what_was_withheld_agent_kind_and_model(sums: LiftSums, redis_client: redis.Redis) -> None:
    for number, withheld in enumerate((False, True, True)):
        sums.count("poem", f"task {number}", 50.0, ONE, withheld=withheld)
        sums.count("poem", f"task {number}", 70.0, ONE._replace(way="all withheld", kind=""), withheld=withheld)

    assert groups(redis_client, "poem") == [
        (TaskGroup("all withheld", "poem", "", "openai:m"), (1, 70, 4_900), (2, 140, 9_800)),
        (ONE, (1, 50, 2_500), (2, 100, 5_000)),
    ]
    assert groups(redis_client, "logic") == []


@pytest.mark.parametrize(("withheld", "is_told"), [(9, False), (10, True)])
def test_a_lift_is_told_from_ten_tasks_without_the_memory_on(
    sums: LiftSums, redis_client: redis.Redis, withheld: int, is_told: bool
) -> None:
    for number in range(20):
        sums.count("poem", f"shown {number}", 60.0, ONE, [LAMP], withheld=False)
    for number in range(withheld):
        sums.count("poem", f"withheld {number}", 50.0, ONE, [LAMP], withheld=True)

    assert (memory_lift(redis_client, "poem", LAMP).points is not None) is is_told


def test_a_lift_needs_ten_tasks_that_were_shown_the_memory(sums: LiftSums, redis_client: redis.Redis) -> None:
    for number in range(10):
        sums.count("poem", f"withheld {number}", 50.0, ONE, [LAMP], withheld=True)
    for number in range(9):
        sums.count("poem", f"shown {number}", 60.0, ONE, [LAMP], withheld=False)

    assert memory_lift(redis_client, "poem", LAMP).points is None


def test_a_task_counts_once_and_keeps_its_side(sums: LiftSums, redis_client: redis.Redis) -> None:
    counted = [sums.count("poem", "one", 80.5, ONE, [LAMP], withheld=withheld) for withheld in (False, False, True)]

    assert counted == [True, False, False]
    assert redis_client.hgetall(lift_key("poem")) == dict.fromkeys((NAME, str(LAMP)), "1 80.5 6480.25 0 0 0")


def test_a_memory_that_is_dropped_leaves_the_sums_of_its_group(sums: LiftSums, redis_client: redis.Redis) -> None:
    sums.count("poem", "one", 80.0, ONE, [LAMP, BOAT], withheld=False)

    drop_lift(redis_client, "poem", [LAMP])

    assert set(redis_client.hkeys(lift_key("poem"))) == {NAME, str(BOAT)}


def test_a_task_has_no_grade_once_on_the_side_that_was_noted_first(sums: LiftSums, redis_client: redis.Redis) -> None:
    for number, withheld in enumerate((False, False, True)):
        sums.note("poem", f"task {number}", ONE, withheld=withheld)
        sums.note("poem", f"task {number}", ONE, withheld=True)

    sums.note("poem", "task 0", ONE._replace(way="only one withheld"), withheld=True, is_graded=True)
    sums.note("poem", "task 0", ONE, withheld=False)
    sums.note("poem", "never noted", ONE, withheld=False, is_graded=True)

    found = without_grade(redis_client, "poem")
    assert sorted(found) == [(ONE, Side(0, 0, 0), Side(1, 0, 0)), (ONE, Side(1, 0, 0), Side(0, 0, 0))]
