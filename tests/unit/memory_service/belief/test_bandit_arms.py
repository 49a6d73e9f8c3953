from __future__ import annotations

import multiprocessing
from uuid import UUID

import numpy as np
import pytest
import redis

from memshare_broker.connection import connect
from memshare_broker.settings import Settings
from memshare_memory.belief.bandit import Arm, Arms, Credit, D

PROCESSES, TASKS = 8, 250
MEMORIES = [UUID(int=number) for number in range(5)]


@pytest.fixture
def arms(redis_client: redis.Redis) -> Arms:
    return Arms(redis_client)


def x(number: int) -> np.ndarray:
    """Features whose products and sums are exact in binary."""
    return np.array([(number >> place) % 4 / 4 for place in range(D)])


def test_what_is_read_is_what_was_added(arms: Arms) -> None:
    feature = np.random.default_rng(0).normal(size=D)
    arms.add("poem", "one", [Credit(MEMORIES[0], feature, 0.3)])
    arms.add("poem", "two", [Credit(MEMORIES[0], 2 * feature, 0.7)])

    [arm, untried] = arms.of("poem", MEMORIES[:2])

    expected = Arm.untried().credited(feature, 0.3).credited(2 * feature, 0.7)
    assert arm.a == pytest.approx(expected.a, rel=1e-15)
    assert arm.b == pytest.approx(expected.b, rel=1e-15)
    assert (arm.credits, untried.credits) == (2, 0)
    assert np.array_equal(untried.a, np.eye(D))


def test_a_task_credits_once(arms: Arms) -> None:
    for _ in range(3):
        arms.add("poem", "one", [Credit(MEMORIES[0], x(7), 1.0)])

    assert arms.of("poem", MEMORIES[:1])[0].credits == 1


def test_memories_of_another_pool_are_not_touched_and_dropped_ones_are_untried(arms: Arms) -> None:
    arms.add("poem", "one", [Credit(one, x(7), 1.0) for one in MEMORIES])
    assert [arm.credits for arm in arms.of("logic", MEMORIES)] == [0] * 5

    arms.drop("poem", MEMORIES[:2])

    assert [arm.credits for arm in arms.of("poem", MEMORIES)] == [0, 0, 1, 1, 1]


def credit(url: str, process: int) -> None:
    client = connect(url)
    arms = Arms(client)
    for task in range(TASKS):
        number = process * TASKS + task
        mine = Credit(MEMORIES[number % 5], x(number), (number % 3) / 2)
        arms.add("poem", f"task {number}", [mine])
        if number % 10 == 0:
            arms.add("poem", f"task {number}", [mine])  # a redelivery
    client.close()


def test_two_thousand_credits_of_eight_processes_are_exact(arms: Arms, settings: Settings) -> None:
    spawn = multiprocessing.get_context("spawn")
    processes = [spawn.Process(target=credit, args=(settings.redis, number)) for number in range(PROCESSES)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * PROCESSES

    expected = [Arm.untried() for _ in MEMORIES]
    for number in range(PROCESSES * TASKS):
        expected[number % 5] = expected[number % 5].credited(x(number), (number % 3) / 2)

    for arm, right in zip(arms.of("poem", MEMORIES), expected, strict=True):
        assert arm.credits == right.credits == 400
        assert np.array_equal(arm.a, right.a)
        assert np.array_equal(arm.b, right.b)


def test_that_a_task_has_credited_is_known_for_as_long_as_records_are_kept(redis_client: redis.Redis) -> None:
    Arms(redis_client, keep_days=0.5).add("poem", "one", [Credit(MEMORIES[0], x(1), 0.3)])

    [marker] = redis_client.scan_iter("memshare:credited:*")
    assert 43_000 < redis_client.ttl(marker) <= 43_200
