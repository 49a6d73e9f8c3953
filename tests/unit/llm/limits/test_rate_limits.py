from __future__ import annotations

import multiprocessing
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis

from memshare_broker.connection import connect
from memshare_broker.settings import Settings
from memshare_broker.settings_file import RateLimit
from memshare_llm.limits.rate_limits import SharedLimit, free_in
from tests.support.deployment import wait_for


def test_a_request_is_granted_until_the_window_is_full(redis_client: redis.Redis) -> None:
    limit = SharedLimit(redis_client, "openai:small", RateLimit(requests=3))

    waits = [limit.take(1_000) for _ in range(4)]

    assert waits[:3] == [0, 0, 0]
    assert 55 < waits[3] < 65
    assert SharedLimit(redis_client, "openai:other", RateLimit(requests=3)).take(1) == 0


def test_what_the_tokens_refuse_takes_no_request(redis_client: redis.Redis) -> None:
    limit = SharedLimit(redis_client, "openai:small", RateLimit(requests=3, tokens=100))
    assert limit.take(60) == 0

    assert [limit.take(60) > 0 for _ in range(5)] == [True] * 5

    assert [limit.take(10) for _ in range(2)] == [0, 0]
    assert limit.take(10) > 0


def test_a_call_that_is_larger_than_a_window_takes_a_whole_one(redis_client: redis.Redis) -> None:
    limit = SharedLimit(redis_client, "openai:small", RateLimit(tokens=100))

    assert limit.take(1_000) == 0
    assert limit.take(1) > 0


def test_what_was_used_beyond_the_estimate_takes_its_place_and_the_rest_is_told(redis_client: redis.Redis) -> None:
    limit = SharedLimit(redis_client, "openai:small", RateLimit(tokens=100))
    limit.take(30)

    assert limit.charge(50) == 0
    assert limit.take(30) > 0
    assert limit.charge(50) == 30
    assert limit.charge(-5) == 0
    assert SharedLimit(redis_client, "openai:other", RateLimit(requests=3)).charge(50) == 0


def granted(url: str, times: int) -> int:
    with connect(url) as client, ThreadPoolExecutor(4) as threads:
        limit = SharedLimit(client, "openai:small", RateLimit(requests=40, tokens=500))
        return sum(threads.map(lambda _: limit.take(10) == 0, range(times)))


@pytest.mark.usefixtures("redis_client")
def test_processes_and_threads_share_one_limit(settings: Settings) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as processes:
        shares = processes.starmap(granted, [(settings.redis, 60), (settings.redis, 60)])

    assert sum(shares) == 40


def test_a_window_becomes_free_again(redis_client: redis.Redis) -> None:
    limit = SharedLimit(redis_client, "openai:small", RateLimit(requests=2), window=1)
    assert [limit.take(1) for _ in range(2)] == [0, 0]
    assert limit.take(1) > 0

    wait_for(lambda: limit.take(1) == 0, 10, "room for another request")


@pytest.mark.parametrize(
    ("cost", "seen", "seconds"),
    [
        (1, (0, 0, 0, 0), 0),  # nothing was taken yet
        (10, (0, 0, 0, 0), 0),
        (4, (0, 0, 6, 100), 0),
        (5, (0, 0, 6, 100), 40),  # when the current window ends: of 6, 5 or less count from then on
        (10, (0, 0, 6, 100), 90),  # when 10 / 60 of the current one are left in sight, which is less than 1 of 6
        (1, (10, 30, 4, 90), 0),  # 5 of the previous one and 4 of the current one
        (2, (10, 30, 4, 90), 0.01),
        (3, (10, 30, 4, 90), 6),
    ],
)
def test_how_long_it_takes_until_a_call_fits(cost: int, seen: tuple[int, float, int, float], seconds: float) -> None:
    assert free_in(10, cost, 60, seen) == pytest.approx(seconds, abs=0.02)
