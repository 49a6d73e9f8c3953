from __future__ import annotations

import numpy as np
import pytest

from memshare_memory.belief.bandit import ALPHA, FEATURES, Arm, corrected, features, in_general, upper_bounds
from memshare_memory.memory import KNOWLEDGE
from tests.support.memories import remembered


def test_the_bandit_follows_the_reference_trace() -> None:
    x = np.array([[1.0, 0.0], [0.6, 0.8]])
    arms = [Arm.untried(2), Arm.untried(2)]
    seen, chosen = [], []
    for reward in (1.0, 0.0, 1.0):
        p = upper_bounds(arms, x, alpha=1)
        best = int(np.argmax(p))
        seen.append(tuple(p.round(6)))
        chosen.append(best)
        arms[best] = arms[best].credited(x[best], reward)

    assert seen == [(1, 1), (1.207107, 1), (0.910684, 1)]
    assert chosen == [0, 0, 1]


def test_an_untried_memory_has_the_benefit_of_the_doubt_and_no_more() -> None:
    memory = remembered("A lamp", score=90)[0]

    assert upper_bounds([Arm.untried()], in_general(memory)[None]) == pytest.approx([ALPHA])


def test_rewards_raise_a_memory_and_their_absence_sinks_it() -> None:
    x = in_general(remembered("A lamp", score=90)[0])
    good = bad = Arm.untried()
    for _ in range(10):
        good, bad = good.credited(x, 0.9), bad.credited(x, 0.1)

    p = upper_bounds([good, bad], np.stack([x, x]))

    assert p[0] > ALPHA > 0.4 > p[1]
    assert (good.credits, bad.credits) == (10, 10)


@pytest.mark.parametrize("similarity", [-0.3, 0.5, 1.0])
def test_features_have_length_1_and_the_same_bias_whatever_the_context(similarity: float) -> None:
    x = features(remembered(None, score=50)[0], "A task", similarity)

    assert np.linalg.norm(x) == pytest.approx(1)
    assert x[0] == pytest.approx(np.sqrt(0.5))
    assert x[1] == pytest.approx(max(similarity, 0) * x[0] / 2)
    assert x[2] == pytest.approx(x[0] / 4)
    assert min(x) >= 0


@pytest.mark.parametrize(
    ("of_memory", "of_task", "expected"),
    [
        ("sonnet", "limerick", 0.5),
        ("sonnet", "sonnet", 0),
        ("sonnet", None, 0),
        (None, "sonnet", 0),
        (KNOWLEDGE, "s", 0),
    ],
)
def test_a_context_tells_a_task_of_another_kind(of_memory: str | None, of_task: str | None, expected: float) -> None:
    x = features(remembered("A lamp", score=100, kind=of_memory)[0], "A lamp", 1.0, of_task)

    assert np.linalg.norm(x) == pytest.approx(1)
    assert x[FEATURES.index("is of another kind than the task")] == pytest.approx(expected * x[0])


@pytest.mark.parametrize(
    ("score", "p", "expected"),
    [(0.5, 1.0, 0.5), (0.5, -9.0, 0.4), (0.5, 9.0, 0.55), (-0.5, 9.0, -0.45), (0.03, -9.0, 0.024)],
)
def test_a_rank_is_moved_by_a_bounded_share(score: float, p: float, expected: float) -> None:
    assert corrected(score, p) == pytest.approx(expected)
