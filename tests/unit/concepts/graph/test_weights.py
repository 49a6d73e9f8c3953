from __future__ import annotations

import pytest

from memshare_concepts.concept_graph import intersection, mean, normalised, similarity, trimmed

CATS, DOGS, BOTH = {"Cat": 1.0}, {"Dog": 1.0}, {"Cat": 0.5, "Dog": 0.5}


def test_equal_vectors_have_a_similarity_of_1_and_disjoint_ones_of_0() -> None:
    assert similarity(BOTH, BOTH) == pytest.approx(1)
    assert similarity(CATS, DOGS) == 0
    assert similarity(CATS, BOTH) == pytest.approx(0.5**0.5)


def test_the_intersection_of_equal_vectors_is_the_vector() -> None:
    assert intersection([{"Cat": 0.8, "Dog": 0.2}] * 3) == pytest.approx({"Cat": 0.8, "Dog": 0.2})


def test_the_intersection_has_what_all_have() -> None:
    assert intersection([BOTH, {"Dog": 0.9, "Horse": 0.1}]) == {"Dog": 1.0}


def test_vectors_with_nothing_in_common_have_their_mean() -> None:
    assert intersection([CATS, DOGS]) == BOTH
    assert intersection([]) == {}


def test_a_mean_weighs_its_vectors() -> None:
    assert mean([(3, CATS), (1, DOGS)]) == {"Cat": 0.75, "Dog": 0.25}


def test_the_smallest_entries_go_that_make_up_less_than_the_share() -> None:
    assert trimmed({"A": 0.7, "B": 0.2, "C": 0.06, "D": 0.04}, 0.105) == {"A": 0.7, "B": 0.2}
    assert trimmed({"A": 0.7, "B": 0.3}, 0.1) == {"A": 0.7, "B": 0.3}
    assert trimmed({}, 0.1) == {}


def test_the_largest_weight_comes_first() -> None:
    assert list(normalised({"B": 1, "A": 1, "C": 2, "D": 0})) == ["C", "A", "B"]
