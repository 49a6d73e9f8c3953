from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
import redis

from memshare_memory.admit.crediting import BEST, Usual, reward_of_score, reward_of_verdict, usual_score
from memshare_memory.belief.bandit import (
    ALPHA,
    Arm,
    Arms,
    Array,
    GradeOfKind,
    features,
    in_general,
    most_that_keeps,
    upper_bounds,
)
from memshare_memory.memory import FLOOR
from tests.support.memories import remembered

HISTORIES = 400


class Shown(NamedTuple):
    """A memory in the context of one task, and its share in the answer."""

    x: Array
    share: float


def context(chance: np.random.Generator) -> Array:
    """A memory as it may be at any time, shown for any task."""
    prompt = None if chance.random() < 0.3 else "A lamp" * int(chance.integers(1, 40))
    about: dict[str, Any] = {"score": None if chance.random() < 0.3 else float(chance.integers(0, 101))}
    kind, of_task = chance.choice(["sonnet", "riddle"], size=2)
    memory = remembered(prompt, answer="Yes." * int(chance.integers(1, 40)), kind=kind, **about)[0]
    return features(memory, "x" * int(chance.integers(0, 400)), float(chance.uniform(-0.2, 1)), of_task)


def extreme(chance: np.random.Generator) -> Array:
    """A context in which everything is as much or as little as it can be."""
    memory = remembered("A lamp", score=float(chance.choice([0, 100])))[0]
    return features(memory, str(chance.choice(["", "A lamp"])), float(chance.choice([0, 1])))


def history(chance: np.random.Generator) -> list[Shown]:
    """Times that one memory was shown: in many contexts, in very few, or in extreme ones."""
    times = int(chance.integers(1, 60))
    if chance.random() < 0.3:
        few = [extreme(chance) for _ in range(int(chance.integers(1, 5)))]
        return [Shown(few[int(chance.integers(len(few)))], 1.0) for _ in range(times)]
    contexts = [context(chance) for _ in range(int(chance.integers(1, 4)) if chance.random() < 0.3 else times)]
    shares = 10 ** chance.uniform(-3, 0, size=times)
    return [Shown(contexts[int(chance.integers(len(contexts)))], float(share)) for share in shares]


def p_of(arm: Arm, x: Array) -> float:
    return float(upper_bounds([arm], x[None])[0])


def test_no_series_of_verified_answers_puts_a_memory_below_an_untried_one_in_any_context() -> None:
    chance = np.random.default_rng(0)
    for _ in range(HISTORIES):
        arm = Arm.untried()
        for x, share in history(chance):
            arm = arm.credited(x, reward_of_verdict(1), share)
            assert p_of(arm, x) > ALPHA
        others = [some(chance) for some in (context, extreme) for _ in range(20)]
        assert min(p_of(arm, other) for other in others) >= ALPHA - 1e-9


def test_what_is_certain_of_far_tasks_is_not_held_against_a_memory_in_a_near_one() -> None:
    far = [(0.0, 0, 1_000), (0.1, 0, 1_000), (0.0, 10, 1_000), (0.0, 0, 60)]  # similarity, score, length of the task
    arm = Arm.untried()
    for similarity, score, length in far:
        x = features(remembered("A lamp", score=score)[0], "x" * length, similarity)
        arm = arm.credited(x, reward_of_verdict(1), weight=20_000)
        assert p_of(arm, x) >= ALPHA, "however certain it is"

    assert p_of(arm, in_general(remembered("A lamp", score=100)[0])) >= ALPHA


def test_a_rejected_answer_lowers_a_memory_the_more_the_larger_its_share() -> None:
    chance = np.random.default_rng(1)
    for _ in range(HISTORIES):
        arm = Arm.untried()
        for x, share in history(chance):
            arm = arm.credited(x, reward_of_verdict(float(chance.random() < 0.8)), share)
        x = context(chance)
        if p_of(arm, x) <= FLOOR:
            continue  # it is not shown, so no answer rests on it
        before = p_of(arm, x)
        fallen = [before - p_of(arm.credited(x, reward_of_verdict(0), share), x) for share in (0.25, 0.5, 1.0)]
        assert 0 < fallen[0] < fallen[1] < fallen[2]
        assert all(part >= share * fallen[2] for part, share in zip(fallen, (0.25, 0.5, 1), strict=True))


@pytest.mark.parametrize("alpha", [0.3, 1])
def test_the_most_that_keeps_a_memory_where_it_is_raises_it_in_no_context_that_is_named(alpha: float) -> None:
    chance = np.random.default_rng(2)
    for _ in range(HISTORIES):
        arm = Arm.untried()
        for x, share in history(chance):
            arm = arm.credited(x, reward_of_verdict(float(chance.random() < 0.8)), share)
        x, share, *of = context(chance), float(chance.uniform(0.1, 1)), context(chance), extreme(chance)
        most = most_that_keeps(arm, x, [x, *of], share, alpha)
        then = arm.credited(x, most, share)
        change = [upper_bounds([then], one[None], alpha) - upper_bounds([arm], one[None], alpha) for one in (x, *of)]
        assert max(change) <= 1e-9


def test_a_larger_share_in_a_verified_answer_raises_a_memory_more() -> None:
    x = in_general(remembered("A lamp", score=90)[0])

    p = [p_of(Arm.untried().credited(x, reward_of_verdict(1), share), x) for share in (0.1, 0.2, 0.6)]

    assert ALPHA < p[0] < p[1] < p[2]


def test_fading_never_raises_a_memory_that_was_found_wrong_above_an_untried_one() -> None:
    chance = np.random.default_rng(0)
    for _ in range(200):
        arm = Arm.untried()
        for x, share in history(chance):
            arm = arm.credited(x, 0.0, share)
        x = context(chance)
        alpha = float(chance.choice([0, 0.5, 1, 1]))
        series = [upper_bounds([arm.faded(left)], x[None], alpha)[0] for left in (1, 0.7, 0.4, 0.1, 1e-3, 1e-20)]
        assert alpha < 1 or series == sorted(series), "it comes back little by little"
        assert max(series) <= ALPHA + 1e-9


@pytest.mark.parametrize("alpha", [0, 0.5, 1])
def test_fading_never_puts_a_memory_that_was_found_right_below_an_untried_one(alpha: float) -> None:
    chance = np.random.default_rng(0)
    for _ in range(100):
        arm = Arm.untried()
        for x, share in history(chance):
            arm = arm.credited(x, 1.5, share)
        bounds = upper_bounds([arm.faded(left) for left in (1, 0.5, 1e-3, 0)], np.stack([context(chance)] * 4), alpha)
        assert min(bounds) >= ALPHA - 1e-9


@pytest.mark.parametrize(
    ("score", "tasks", "mean", "expected"),
    [
        (20, 0, 0, 1),  # nothing is known of what is usual
        (20, 1_000_000, 20, 1),
        (20, 1_000_000, 10, 1.1),  # it raised a hard task
        (20, 1_000_000, 80, 0.4),
        (0, 1_000_000, 100, 0),
        (100, 1_000_000, 0, BEST),
        (90, 5, 50, 1.2),
    ],
)
def test_a_score_earns_what_it_is_above_or_below_the_usual(
    score: float, tasks: int, mean: float, expected: float
) -> None:
    assert reward_of_score(score, Usual(tasks, mean)) == pytest.approx(expected, abs=1e-4)


def test_what_is_usual_is_the_mean_of_the_tasks_of_a_kind_each_counted_once(redis_client: redis.Redis) -> None:
    arms = Arms(redis_client)
    for journey, kind, score in (("1", "sonnet", 20.0), ("1", "sonnet", 20.0), ("2", "sonnet", 40), ("3", None, 90)):
        arms.add("poem", journey, [], graded=GradeOfKind(kind, score))

    assert usual_score(redis_client, "poem", "sonnet") == Usual(2, 30)
    assert usual_score(redis_client, "poem", None) == Usual(1, 90)
    assert usual_score(redis_client, "logic", None) == Usual(0, 0)
