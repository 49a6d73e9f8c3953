from __future__ import annotations

import math

import numpy as np
import pytest

from memshare_trainer.lesson import Array, Figure, RankingComparison, compare

GAINS = np.array([0.9, 0.1, 0.0], dtype=np.float32)
BEST_FIRST = np.array([3, 2, 1], dtype=np.float32)
BEST_SECOND = np.array([2, 3, 1], dtype=np.float32)


def same(scores: Array, count: int) -> list[Array]:
    return [scores] * count


def test_the_figures_are_the_gain_of_the_first_and_ndcg_of_all() -> None:
    found = compare([GAINS], [BEST_SECOND], [BEST_FIRST])

    assert (found.first.before, found.first.after, found.first.error) == pytest.approx((0.1, 0.9, 0.5))
    ideal = 0.9 + 0.1 / math.log2(3)
    assert found.ndcg.before == pytest.approx((0.1 + 0.9 / math.log2(3)) / ideal)
    assert found.ndcg.after == pytest.approx(1)
    assert found.lessons == 1


def test_the_error_is_that_of_the_paired_difference() -> None:
    better, worse = 16, 8

    found = compare(
        same(GAINS, better + worse),
        same(BEST_SECOND, better) + same(BEST_FIRST, worse),
        same(BEST_FIRST, better) + same(BEST_SECOND, worse),
    )

    differences = [0.8] * better + [-0.8] * worse
    assert found.first.error == pytest.approx(np.std(differences, ddof=1) / 24**0.5, rel=1e-5)
    assert not found.worse


def test_lessons_that_all_agree_still_have_an_error() -> None:
    found = compare(same(GAINS, 10), same(BEST_FIRST, 10), same(BEST_FIRST, 10))

    assert (found.first.error, found.ndcg.error) == (0.05, 0.05)
    assert not found.worse


def test_a_ranking_that_shows_what_helps_less_often_is_worse() -> None:
    found = compare(same(GAINS, 20), same(BEST_FIRST, 20), same(BEST_SECOND, 20))

    assert found.worse


def test_one_figure_that_falls_makes_a_ranking_worse_though_the_other_rises() -> None:
    rises, falls = Figure(before=0.5, after=0.6, error=0.05), Figure(before=0.5, after=0.4, error=0.05)
    stays = Figure(before=0.5, after=0.46, error=0.05)

    assert RankingComparison(rises, falls, 9).worse
    assert RankingComparison(falls, rises, 9).worse
    assert not RankingComparison(rises, stays, 9).worse


def test_candidates_that_tie_do_not_look_ranked() -> None:
    alike = np.zeros(3, dtype=np.float32)

    assert compare([GAINS], [BEST_FIRST], [alike]).first.after == 0


def test_a_lesson_in_which_nothing_helps_cannot_be_ranked_badly() -> None:
    found = compare([np.zeros(3, dtype=np.float32)], [BEST_FIRST], [BEST_SECOND])

    assert (found.ndcg.before, found.ndcg.after, found.first.after) == (1, 1, 0)


def test_without_lessons_nothing_is_compared() -> None:
    with pytest.raises(ValueError, match="no lessons"):
        compare([], [], [])
