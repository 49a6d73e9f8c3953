from __future__ import annotations

from uuid import UUID

import numpy as np
import pytest
import redis

from memshare_memory.admit.crediting import Usual, usual_score
from memshare_memory.belief.bandit import INDEX, Arms, Credit, GivenCredit, GradeOfKind, less

LAMP, BOAT = UUID(int=1), UUID(int=2)
X = np.array([0.7, 0.1, 0.2, 0.3, 0.4, 0.5])


@pytest.fixture
def arms(redis_client: redis.Redis) -> Arms:
    return Arms(redis_client)


@pytest.fixture
def given(redis_client: redis.Redis) -> GivenCredit:
    return GivenCredit(redis_client)


def test_what_a_submitters_tasks_gave_is_taken_back_and_the_rest_stays(
    arms: Arms, given: GivenCredit, redis_client: redis.Redis
) -> None:
    arms.add("poem", "1", [Credit(LAMP, X, 0.5)], submitter="ada", graded=GradeOfKind("sonnet", 80))
    before = arms.of("poem", [LAMP, BOAT])
    for number in range(300):
        both = [Credit(LAMP, X, 1.5, 0.3), Credit(BOAT, X, 0.0)]
        arms.add("poem", f"m {number}", both, submitter="mallory", graded=GradeOfKind("sonnet", 10))
    arms.add("logic", "l", [Credit(BOAT, X, 1.0)], submitter="mallory")
    assert arms.of("poem", [LAMP])[0].credits == 301
    assert given.credited_by("mallory") == {LAMP, BOAT}

    taken = [given.take_back("mallory"), given.take_back("mallory")]

    assert taken == [3, 0]
    for arm, was in zip(arms.of("poem", [LAMP, BOAT]), before, strict=True):
        assert arm.credits == was.credits
        assert arm.a == pytest.approx(was.a, abs=1e-9)
        assert arm.b == pytest.approx(was.b, abs=1e-9)
    assert arms.of("logic", [BOAT])[0].credits == 0
    assert usual_score(redis_client, "poem", "sonnet") == Usual(1, 80)
    assert {str(one).partition("\x1f")[2] for one in redis_client.smembers(INDEX)} == {"ada"}


def test_a_memory_that_begins_anew_loses_nothing_that_it_was_not_given(arms: Arms, given: GivenCredit) -> None:
    arms.add("poem", "1", [Credit(LAMP, X, 0.5)], submitter="mallory")
    arms.drop("poem", [LAMP])
    arms.add("poem", "2", [Credit(LAMP, X, 0.5)], submitter="ada")

    assert given.take_back("mallory") == 0

    assert arms.of("poem", [LAMP])[0].credits == 1


def test_what_was_given_goes_and_comes_with_a_memory(arms: Arms, given: GivenCredit) -> None:
    for name in ("ada", "bob"):
        arms.add("poem", name, [Credit(LAMP, X, 0.5)], submitter=name)
    kept = given.of("poem", [LAMP, BOAT])
    arms.drop("poem", [LAMP])
    assert given.of("poem", [LAMP]) == {}

    given.put_back("poem", LAMP, kept[LAMP])

    assert given.of("poem", [LAMP]) == kept
    assert set(kept[LAMP]) == {"ada", "bob"}


def test_who_is_forgotten_by_name_has_given_nothing_that_could_be_taken_back(arms: Arms, given: GivenCredit) -> None:
    arms.add("poem", "1", [Credit(LAMP, X, 0.5)], submitter="eve")

    given.forget("eve")

    assert (given.take_back("eve"), arms.of("poem", [LAMP])[0].credits) == (0, 1)


def test_an_arm_without_all_that_it_was_given_is_none(arms: Arms, given: GivenCredit) -> None:
    arms.add("poem", "1", [Credit(LAMP, X, 0.5)], submitter="ada")
    [ada] = given.of("poem", [LAMP])[LAMP].values()

    assert less(ada, ada) is None
