from __future__ import annotations

from math import fsum

import pytest

from memshare_broker.wire.grades import CriterionScore
from memshare_scorer.grading import Range, accepted, mean, scale, total
from memshare_scorer.rubric import Criterion, Rubric, all_rubrics, threshold_for

CRITERIA = [
    Criterion(name="taste", points=30, description="…"),
    Criterion(name="colour", points=20, description="…"),
]


def a_rubric(threshold: float | str) -> Rubric:
    return Rubric.model_validate(
        {"domain": "…", "threshold": threshold, "criteria": [CRITERIA[0].model_copy(update={"points": 100})]}
    )


def test_the_total_is_half_the_sum_of_lows_and_highs() -> None:
    criteria = {
        "taste": CriterionScore(low=40, high=50, points=60),
        "colour": CriterionScore(low=20, high=40, points=40),
    }

    assert total(criteria) == 0.5 * ((40 + 20) + (50 + 40)) == 75


def test_ranges_and_points_are_scaled_so_that_the_points_sum_to_100() -> None:
    scores = scale(CRITERIA, {"taste": Range(15, 24), "colour": Range(0, 20)})

    assert scores == {
        "taste": CriterionScore(low=30, high=48, points=60),
        "colour": CriterionScore(low=0, high=40, points=40),
    }
    assert total(scores) == 59


@pytest.mark.parametrize("kind", [None, "limerick", "wuyanlvshi", "sonnet", "puzzle", "riddle", "pun", "study"])
def test_full_points_are_exactly_100_for_every_kind_of_every_bundled_rubric(kind: str | None) -> None:
    for rubric in all_rubrics(None).values():
        criteria = rubric.for_kind(kind)

        full = scale(criteria, {one.name: Range(one.points, one.points) for one in criteria})
        nothing = scale(criteria, {one.name: Range(0, 0) for one in criteria})

        assert total(full) == 100
        assert total(nothing) == 0
        assert sum(score.points for score in full.values()) == pytest.approx(100)


def test_full_points_are_exactly_100_where_scaling_is_not_exact() -> None:
    criteria = [Criterion(name=f"c{points}", points=points, description="…") for points in (1, 29, 27)]

    full = scale(criteria, {one.name: Range(one.points, one.points) for one in criteria})

    assert fsum(score.low + score.high for score in full.values()) / 2 != 100
    assert total(full) == 100


def test_several_gradings_become_one_criterion_by_criterion() -> None:
    strict = scale(CRITERIA, {"taste": Range(0, 6), "colour": Range(4, 4)})
    kind = scale(CRITERIA, {"taste": Range(30, 30), "colour": Range(4, 8)})

    both = mean([strict, kind])

    assert both == scale(CRITERIA, {"taste": Range(15, 18), "colour": Range(4, 6)})
    assert total(both) == (total(strict) + total(kind)) / 2


def test_a_total_is_accepted_from_the_threshold_on() -> None:
    assert accepted(81, 81)
    assert not accepted(80.999, 81)


def test_the_threshold_is_the_rubrics_number_whatever_the_seeds_got() -> None:
    assert threshold_for(a_rubric(70.5), "poem", {"poem": 90.0}.get) == 70.5


def test_the_threshold_can_be_the_mean_of_the_pools_seeds_and_is_81_without_any() -> None:
    rubric = a_rubric("mean-of-seeds")

    assert threshold_for(rubric, "poem", {"poem": 64.25}.get) == 64.25
    assert threshold_for(rubric, "plan", {"poem": 64.25}.get) == 81
