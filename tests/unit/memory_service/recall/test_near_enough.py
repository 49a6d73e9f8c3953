"""From which similarity on a memory is an answer, as accepted answers of its pool suggest."""

from __future__ import annotations

import pytest
import redis

from memshare_memory.encoders.encoder import ENCODER
from memshare_memory.recall.near_enough import AT_FIRST, LEAST_TASKS, HelpedFrom, near_enough, nearness, too_far


def count(client: redis.Redis, *similarities: float, encoder: str = "small", since: int = 0) -> None:
    for place, one in enumerate(similarities, since):
        HelpedFrom(client).count("poem", encoder, f"task {place}", one)


def test_it_is_as_usual_until_enough_answers_followed_a_memory(redis_client: redis.Redis) -> None:
    count(redis_client, *[0.72] * (LEAST_TASKS - 1))
    assert near_enough(redis_client, "poem", None) == AT_FIRST

    count(redis_client, 0.43, since=LEAST_TASKS)

    assert near_enough(redis_client, "poem", None) == pytest.approx(0.5)
    assert near_enough(redis_client, "plan", None) == near_enough(redis_client, None, None) == AT_FIRST


@pytest.mark.parametrize(
    ("similarities", "least"),
    [([0.41, 0.41, 0.41, *[0.8] * 37], 0.4), ([0.21, *[0.44] * 39], 0.4), ([-0.3] * 40, 0.1), ([0.99] * 40, 0.5)],
)
def test_it_leaves_out_one_in_twenty_of_what_helped(
    redis_client: redis.Redis, similarities: list[float], least: float
) -> None:
    count(redis_client, *similarities)

    assert near_enough(redis_client, "poem", None) == pytest.approx(least)


def test_a_task_counts_once_and_another_encoder_begins_anew(redis_client: redis.Redis) -> None:
    for _ in range(LEAST_TASKS):
        count(redis_client, 0.42)
    assert near_enough(redis_client, "poem", None) == AT_FIRST

    count(redis_client, *[0.42] * LEAST_TASKS, since=1)
    assert near_enough(redis_client, "poem", None) == pytest.approx(0.4)
    count(redis_client, 0.42, encoder="large", since=100)
    assert near_enough(redis_client, "poem", None) == AT_FIRST


def test_once_another_encoder_searches_the_limit_of_the_one_before_is_gone(redis_client: redis.Redis) -> None:
    redis_client.set(ENCODER, "small")
    count(redis_client, *[0.42] * LEAST_TASKS)
    assert near_enough(redis_client, "poem", None) == pytest.approx(0.4)

    redis_client.set(ENCODER, "small@3f2a9c1b")

    assert near_enough(redis_client, "poem", None) == AT_FIRST
    assert "(0 since the encoder" in nearness(redis_client, "poem", None).why


def test_the_setting_counts_more_than_what_helped(redis_client: redis.Redis) -> None:
    count(redis_client, *[0.42] * LEAST_TASKS)

    assert near_enough(redis_client, "poem", 0.7) == 0.7


def test_it_says_where_it_comes_from(redis_client: redis.Redis) -> None:
    count(redis_client, *[0.42] * 12, since=100)
    assert (
        "until 40 accepted answers that followed a memory suggest one (12 since the encoder"
        in nearness(redis_client, "poem", None).why
    )
    assert "no pool is named" in nearness(redis_client, None, None).why

    count(redis_client, *[0.42] * LEAST_TASKS)

    assert "that accepted answers suggest" in nearness(redis_client, "poem", None).why
    assert "MEMSHARE_NEAR_ENOUGH" in nearness(redis_client, "poem", 0.7).why


def test_what_is_too_far_says_how_far() -> None:
    assert "nearest: 0.25" in too_far(0.25, 0.3)
    assert too_far(0.3, 0.3) == too_far(None, 0.3) == ""
