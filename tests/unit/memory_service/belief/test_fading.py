from __future__ import annotations

import numpy as np
import pytest
import redis

from memshare_memory.belief.bandit import (
    _SINCE,
    ARMS,
    Arm,
    Arms,
    Array,
    Bandit,
    Credit,
    D,
    GivenCredit,
    given_key,
    in_general,
    less,
    upper_bounds,
)
from memshare_memory.memory import UNTRIED
from tests.support.memories import remembered

LAMP = remembered("A lamp", score=90)[0]
X = in_general(LAMP)


class Calendar:
    """The day, which a test moves on."""

    def __init__(self) -> None:
        self.day = _SINCE + 100

    def __call__(self) -> int:
        return self.day


@pytest.fixture
def calendar() -> Calendar:
    return Calendar()


@pytest.fixture
def bandit(calendar: Calendar) -> Bandit:
    return Bandit(half_life=90, today=calendar)


@pytest.fixture
def arms(redis_client: redis.Redis, bandit: Bandit) -> Arms:
    return Arms(redis_client, bandit=bandit)


def arm_of(arms: Arms) -> Arm:
    return arms.of("poem", [LAMP.id])[0]


def times(weight: float, reward: float, x: Array = X) -> Arm:
    """An arm with credit of this weight."""
    return Arm.untried().credited(x, reward, weight)


def p_of(arm: Arm) -> float:
    return float(upper_bounds([arm], X[None])[0])


def require_same(arm: Arm, other: Arm) -> None:
    assert arm.a == pytest.approx(other.a)
    assert arm.b == pytest.approx(other.b)


def test_of_a_credit_half_is_left_after_a_half_life_and_a_new_one_counts_in_full(
    arms: Arms, calendar: Calendar
) -> None:
    arms.add("poem", "old", [Credit(LAMP.id, X, 1.5)])
    calendar.day += 90
    require_same(arm_of(arms), times(0.5, 1.5))

    arms.add("poem", "new", [Credit(LAMP.id, X, 0.0)])
    calendar.day += 180

    expected = times(0.125, 1.5).credited(X, 0.0, 0.25)
    require_same(arm_of(arms), expected)
    assert (arm_of(arms).credits, arm_of(arms).unfaded) == (2, pytest.approx(0.375))


def test_what_is_right_now_outweighs_what_was_right_last_year(arms: Arms, calendar: Calendar) -> None:
    for number in range(6):
        arms.add("poem", f"old {number}", [Credit(LAMP.id, X, 1.5)])
    calendar.day += 365
    for number in range(2):
        arms.add("poem", f"new {number}", [Credit(LAMP.id, X, 0.0)])

    assert p_of(arm_of(arms)) < UNTRIED < p_of(times(6, 1.5).credited(X, 0.0, 2))


def test_after_many_half_lives_an_arm_is_one_that_was_never_tried(arms: Arms, calendar: Calendar) -> None:
    for number in range(20):
        arms.add("poem", f"{number}", [Credit(LAMP.id, X, 0.0)])
    calendar.day += 90 * 70

    arm = arm_of(arms)

    assert arm.a == pytest.approx(np.eye(D), abs=1e-15)
    assert arm.b == pytest.approx(np.zeros(D))
    assert (round(arm.unfaded), arm.credits, arm.is_tried) == (0, 20, False)
    assert p_of(arm) == UNTRIED


def test_without_a_half_life_nothing_fades_by_the_last_bit(redis_client: redis.Redis, calendar: Calendar) -> None:
    arms, chance, expected = (
        Arms(redis_client, bandit=Bandit(half_life=0, today=calendar)),
        np.random.default_rng(0),
        None,
    )
    upper = np.triu_indices(D)
    for number in range(40):
        x, reward, weight = chance.normal(size=D), chance.random(), chance.random()
        arms.add("poem", f"{number}", [Credit(LAMP.id, x, reward, weight)])
        sums = np.array([1.0, *(weight * np.outer(x, x)[upper]), *(weight * reward * x)])
        expected = sums if expected is None else expected + sums
        calendar.day += 400

    arm = arm_of(arms)

    assert np.array_equal((arm.a)[upper], expected[1:-D] + np.eye(D)[upper])
    assert np.array_equal(arm.b, expected[-D:])
    assert (arm.credits, arm.unfaded) == (40, 40)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_whatever_alpha_is_an_untried_memory_has_p_1_and_one_found_wrong_sinks(alpha: float) -> None:
    bounds = upper_bounds([Arm.untried(), times(1, 0.0), times(6, 0.0), times(60, 0.0)], np.stack([X] * 4), alpha)

    assert bounds[0] == UNTRIED
    assert list(bounds) == sorted(bounds, reverse=True)
    assert bounds[3] < 0.4


def test_what_is_left_of_what_somebody_gave_is_taken_back_and_no_more(
    arms: Arms, calendar: Calendar, redis_client: redis.Redis, bandit: Bandit
) -> None:
    arms.add("poem", "1", [Credit(LAMP.id, X, 1.5)], submitter="mallory")
    calendar.day += 90
    arms.add("poem", "2", [Credit(LAMP.id, X, 0.9)], submitter="ada")
    calendar.day += 45
    sums, given = redis_client.hget(ARMS + "poem", str(LAMP.id)), GivenCredit(redis_client, bandit)
    in_trash = less(str(sums), given.of("poem", [LAMP.id])[LAMP.id]["mallory"], bandit)

    assert given.take_back("mallory") == 1

    left = arm_of(arms)
    require_same(left, times(0.5**0.5, 0.9))
    assert (left.credits, left.unfaded) == (1, pytest.approx(0.5**0.5))
    require_same(arms.read([in_trash])[0], left)


def test_all_that_was_given_taken_back_leaves_nothing(
    arms: Arms, calendar: Calendar, redis_client: redis.Redis
) -> None:
    for number, name in enumerate(("mallory", "ada", "mallory", "ada", "mallory")):
        arms.add("poem", f"{number}", [Credit(LAMP.id, X, 1.5)], submitter=name)
        calendar.day += 37
    given = GivenCredit(redis_client, arms.bandit)

    given.take_back("mallory")
    assert np.linalg.eigvalsh(arm_of(arms).a).min() > 1 - 1e-12, "never less than at first"
    given.take_back("ada")

    assert redis_client.hlen(ARMS + "poem") == 0


def test_a_word_in_place_of_an_older_one_leaves_nothing_of_it(arms: Arms, calendar: Calendar) -> None:
    arms.add("poem", "1", [Credit(LAMP.id, X, 1.5)], submitter="bob", replaces=True)
    calendar.day += 100
    arms.add("poem", "2", [Credit(LAMP.id, X, 0.3)], submitter="bob", replaces=True)

    require_same(arm_of(arms), times(1, 0.3))
    assert (arm_of(arms).credits, arm_of(arms).unfaded) == (1, pytest.approx(1))


def test_credit_from_before_it_faded_fades_from_one_day_on_and_is_taken_back(
    arms: Arms, calendar: Calendar, redis_client: redis.Redis
) -> None:
    old = " ".join(repr(float(number)) for number in (1, *np.outer(X, X)[np.triu_indices(D)], *(1.5 * X)))
    redis_client.hset(ARMS + "poem", str(LAMP.id), old)
    redis_client.hset(given_key("poem", "ada"), str(LAMP.id), old)
    redis_client.sadd("memshare:credits_by", "poem\x1fada")
    calendar.day = _SINCE - 3
    require_same(arm_of(arms), times(1, 1.5))
    calendar.day = _SINCE + 90
    require_same(arm_of(arms), times(0.5, 1.5))
    arms.add("poem", "new", [Credit(LAMP.id, X, 0.9)], submitter="bob")
    calendar.day += 90
    require_same(arm_of(arms), times(0.25, 1.5).credited(X, 0.9, 0.5))

    GivenCredit(redis_client, arms.bandit).take_back("ada")

    require_same(arm_of(arms), times(0.5, 0.9))
