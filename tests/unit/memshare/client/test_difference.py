"""The differences and their intervals, beside those of scipy and of the papers."""

from __future__ import annotations

from math import sqrt
from random import Random

import pytest
from scipy import stats

from memshare.operations.difference import is_right_or_wrong, of_groups, of_pairs, student
from memshare_memory.belief.lift import Side

SCORES = [81.0, 74.5, 90.0, 66.0, 71.5, 88.0, 79.0, 93.5, 85.0, 70.0, 77.0, 82.5]
OTHERS = [61.0, 74.0, 70.0, 66.5, 58.0, 80.0, 64.5, 72.0, 69.0, 55.0]


def side(scores: list[float]) -> Side:
    return Side(len(scores), sum(scores), sum(one**2 for one in scores))


def right(count: int, of: int) -> Side:
    return side([100.0] * count + [0.0] * (of - count))


@pytest.mark.parametrize(("z", "share"), [(1.96, 0.95), (2.5758, 0.99)])
def test_the_interval_of_scores_is_that_of_welch_with_half_an_answer_more_at_both_ends(z: float, share: float) -> None:
    shown, without = stats.describe(SCORES), stats.describe(OTHERS)
    both = (11 * shown.variance + 9 * without.variance) / 20
    assert shown.variance > both > without.variance
    one, other = shown.variance / 12, both / 10
    freedom = (one + other) ** 2 / (one**2 / 11 + other**2 / 20)
    points, welch = shown.mean - without.mean, stats.t.ppf((1 + share) / 2, freedom) * sqrt(one + other)
    more = [(of.mean**2 + (100 - of.mean) ** 2) / 2 / (of.nobs + 1) ** 2 for of in (shown, without)]
    reach = sqrt(welch**2 + z**2 * sum(more))

    assert of_groups([(side(SCORES), side(OTHERS))], z) == pytest.approx(
        (points, points - reach, points + reach), abs=0.02
    )


@pytest.mark.parametrize("strata", [((150, 10),), ((100, 5), (60, 6))])
def test_a_few_scores_that_are_alike_accuse_nobody(strata: tuple[tuple[int, int], ...]) -> None:
    chance, wrong, rounds = Random(1), 0, 500
    for _ in range(rounds):
        found = of_groups(
            [
                (side([100.0 - 50 * (chance.random() < 0.05) for _ in range(shown)]),
                 side([100.0 - 50 * (chance.random() < 0.05) for _ in range(without)]))
                for shown, without in strata
            ]
        )  # fmt: skip
        wrong += found is not None and not found.low <= 0 <= found.high

    assert wrong / rounds <= 0.05


def some(chance: Random, count: int, other: float, share: float) -> Side:
    """Scores of 100, of which chance makes a share another."""
    return side([other if chance.random() < share else 100.0 for _ in range(count)])


@pytest.mark.parametrize(("shown", "without"), [(190, 10), (30, 10), (570, 30), (60, 20)])
def test_where_nearly_all_scores_are_100_the_interval_holds_what_a_few_do_not_show(shown: int, without: int) -> None:
    chance, held, rounds = Random(2), 0, 1_000
    for _ in range(rounds):
        # Of ten tasks without memories, of which a tenth have 50, a third of the time all have 100.
        found = of_groups([(some(chance, shown, 50, 0.01), some(chance, without, 50, 0.1))])
        held += found is not None and found.low <= 4.5 <= found.high

    assert held / rounds >= 0.93


@pytest.mark.parametrize(
    ("low", "high", "rare", "rarer"), [(30, 60, 0.2, 0.05), (30, 60, 0.1, 0.02), (40, 80, 0.8, 0.95)]
)
def test_far_from_an_end_of_the_scale_the_interval_holds_what_ten_tasks_do_not_show(
    low: float, high: float, rare: float, rarer: float
) -> None:
    chance, held, rounds = Random(4), 0, 1_000
    for _ in range(rounds):
        many, few = (
            side([(low if chance.random() < share else high) + chance.gauss(0, 2) for _ in range(count)])
            for share, count in ((rarer, 190), (rare, 10))
        )
        found = of_groups([(many, few)])
        held += found is not None and found.low <= (high - low) * (rare - rarer) <= found.high

    assert held / rounds >= 0.92


def nearly_alike(chance: Random, count: int, rare: float) -> list[float]:
    """Scores of .89 to .91, but for a share that failed."""
    return [10.0 if chance.random() < rare else chance.uniform(89, 91) for _ in range(count)]


@pytest.mark.parametrize("rare", [0.02, 0.05])
@pytest.mark.parametrize("count", [10, 15, 30, 60])
def test_pairs_that_are_nearly_alike_may_hide_rare_failures(rare: float, count: int) -> None:
    chance, held, rounds = Random(6), 0, 500
    for _ in range(rounds):
        found = of_pairs([*zip(nearly_alike(chance, count, 0), nearly_alike(chance, count, rare), strict=True)])
        held += found is not None and found.low <= -80 * rare <= found.high

    assert held / rounds >= 0.92


@pytest.mark.parametrize("rare", [0.02, 0.05])
@pytest.mark.parametrize(("shown", "without", "strata"), [(190, 10, 1), (30, 30, 1), (60, 20, 1), (12, 4, 16)])
def test_tasks_that_are_nearly_alike_may_hide_rare_failures(rare: float, shown: int, without: int, strata: int) -> None:
    chance, held, rounds = Random(7), 0, 500
    for _ in range(rounds):
        counts = [(nearly_alike(chance, shown, 0), nearly_alike(chance, without, rare)) for _ in range(strata)]
        found = of_groups([(side(one), side(other)) for one, other in counts])
        held += found is not None and found.low <= 80 * rare <= found.high

    assert held / rounds >= 0.92


def test_a_point_of_jitter_does_not_make_it_certain() -> None:
    found = of_pairs([(90.0, 90.0 + (number % 2)) for number in range(12)])

    assert found is not None
    assert found.low < -15 < 15 < found.high


def test_where_both_sides_have_the_same_spread_the_interval_is_hardly_wider() -> None:
    chance, widths, known = Random(5), 0.0, 2 * 1.98 * 15 * sqrt(1 / 60 + 1 / 60)
    for _ in range(300):
        many, few = (side([chance.gauss(55, 15) for _ in range(count)]) for count in (60, 60))
        found = of_groups([(many, few)])
        widths += found.high - found.low if found is not None else 0

    assert widths / 300 == pytest.approx(known, rel=0.12)


@pytest.mark.parametrize("score", [80.0, 83.3])
def test_scores_that_are_all_alike_make_nothing_certain(score: float) -> None:
    found, pairs = of_groups([(side([score] * 12), side([score] * 10))]), of_pairs([(score, score)] * 10)
    apart = of_groups([(side([80.0] * 6), side([80.0] * 6)), (side([60.0] * 6), side([60.0] * 6))])

    assert found is not None
    assert pairs is not None
    assert apart is not None
    assert found.low < -3 < 3 < found.high
    assert apart.low < -3 < 3 < apart.high
    assert pairs.low < -20 < 20 < pairs.high


def test_the_interval_of_right_answers_is_that_of_agresti_and_caffo() -> None:
    # (9 + 1) / 12 and (3 + 1) / 12: .5 ± 1.96 · √(.8333 · .1667 / 12 + .3333 · .6667 / 12).
    assert of_groups([(right(9, 10), right(3, 10))]) == pytest.approx((60.0, 15.96, 84.04), abs=0.05)
    # Nearly as Newcombe's of his first example, 5.24 to 33.39 (Statistics in Medicine 17, 1998).
    assert of_groups([(right(56, 70), right(48, 80))]) == pytest.approx((20.0, 5.24, 33.39), abs=0.6)


def test_the_interval_of_the_same_questions_counts_the_largest_step_up_and_down_once_more() -> None:
    far = [5 * (one - 55) for one in OTHERS]
    pairs = list(zip(far, SCORES, strict=False))
    steps = [b - a for a, b in pairs]
    more = stats.describe([*steps, max(steps), -max(steps)])
    reach = 1.96 * sqrt(more.variance * 11 / 12 / 12)

    assert of_pairs(pairs) == pytest.approx((sum(steps) / 10, more.mean - reach, more.mean + reach), abs=0.01)
    low, high = stats.ttest_rel(SCORES[:10], far).confidence_interval(0.95)
    assert 0.9 < 2 * reach / (high - low) < 1.25


@pytest.mark.parametrize("count", [10, 15, 20, 30, 60])
def test_where_most_steps_are_none_the_interval_holds_what_a_few_do_not_show(count: int) -> None:
    chance, held, rounds = Random(3), 0, 1_000
    for _ in range(rounds):
        before = [50.0 if chance.random() < 0.1 else 100.0 for _ in range(count)]
        found = of_pairs([(one, 50.0 if chance.random() < 0.1 else one) for one in before])
        held += found is not None and found.low <= -4.5 <= found.high

    assert held / rounds >= 0.93


def test_the_interval_of_the_same_right_answers_is_that_of_bonett_and_price() -> None:
    pairs = [(0.0, 100.0)] * 8 + [(100.0, 0.0)] * 2 + [(100.0, 100.0)] * 5 + [(0.0, 0.0)] * 5
    # (8 + 1) / 22 and (2 + 1) / 22, so .2727 ± 1.96 · √((.5455 − .2727²) / 22).
    assert of_pairs(pairs) == pytest.approx((30.0, -1.45, 56.00), abs=0.05)


def test_a_few_that_all_agree_do_not_make_it_certain() -> None:
    same, groups = of_pairs([(0.0, 0.0)] * 12), of_groups([(right(0, 12), right(0, 12))])

    assert same is not None
    assert groups is not None
    assert same.low < -10 < 10 < same.high
    assert groups.low < -10 < 10 < groups.high


@pytest.mark.parametrize(("shown", "withheld"), [(9, 10), (10, 9), (0, 30)])
def test_there_is_none_below_ten_on_a_side(shown: int, withheld: int) -> None:
    assert of_groups([(right(0, shown), right(0, withheld))]) is None
    assert of_pairs([(0.0, 100.0)] * min(shown, withheld)) is None


@pytest.mark.parametrize("points", [0.0, 10.0, -10.0])
def test_no_mix_of_groups_makes_or_turns_a_difference(points: float) -> None:
    # A poor one that was mostly shown none, and a good one that was mostly shown some.
    poor = side([10 + points, 50 + points] * 5), side([10.0, 50.0] * 45)
    good = side([50 + points, 90 + points] * 45), side([50.0, 90.0] * 5)

    found = of_groups([poor, good])

    assert found is not None
    assert found.points == pytest.approx(points)
    # Ten and ninety tasks of each, which spread by 20, say as much as 36 and 36; what lies between groups, nothing.
    assert found.high - found.low == pytest.approx(2 * 1.994 * 20 * sqrt(2 / 36), rel=0.12)


def test_of_right_answers_in_groups_the_interval_holds_the_truth_in_95_of_100_cases() -> None:
    chance, held, rounds = Random(1), 0, 1_500
    for _ in range(rounds):
        strata = [
            (side([100.0 * (chance.random() < level + 0.1) for _ in range(shown)]),
             side([100.0 * (chance.random() < level) for _ in range(without)]))
            for level, shown, without in ((0.1, 90, 10), (0.6, 40, 40), (0.3, 3, 1), (0.8, 1, 1))
        ]  # fmt: skip
        found = of_groups(strata)
        held += found is not None and found.low <= 10 <= found.high

    assert 0.935 < held / rounds < 0.975


def test_pairs_of_a_form_stay_together() -> None:
    pairs = [(0.0, 100.0 * (number % 2)) for number in range(40)]
    alone, by_form = of_pairs(pairs), of_pairs(pairs * 3, clusters=[*range(40)] * 3)

    assert alone is not None
    assert by_form is not None
    assert by_form.points == alone.points
    assert by_form.high - by_form.low == pytest.approx(alone.high - alone.low, rel=0.1), "thrice the same says no more"
    steps = [(50.0, 50.0 + 10 * number) for number in range(12)]
    low, high = stats.ttest_1samp([10 * number for number in range(12)], 0).confidence_interval(0.95)
    twice = of_pairs(steps * 2, clusters=[*range(12)] * 2)
    assert twice is not None
    assert 1 <= (twice.high - twice.low) / (high - low) < 1.25, "twice the same says no more"
    assert of_pairs(pairs, clusters=[number % 9 for number in range(40)]) is None, "nine forms are too few"


def test_a_score_in_between_is_neither_right_nor_wrong() -> None:
    assert is_right_or_wrong(right(3, 7), Side(0, 0, 0))
    assert not is_right_or_wrong(right(3, 7), side([100.0, 80.0]))


@pytest.mark.parametrize("freedom", [9, 9.5, 18, 99, 1_000])
def test_the_quantile_is_that_of_student(freedom: float) -> None:
    assert student(freedom) == pytest.approx(float(stats.t.ppf(0.975, freedom)), abs=0.01)
    assert student(freedom, 2.6) == pytest.approx(float(stats.t.ppf(stats.norm.cdf(2.6), freedom)), abs=0.02)
