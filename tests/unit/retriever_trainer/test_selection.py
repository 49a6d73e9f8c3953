"""Which labelled candidates a lesson teaches with."""

from __future__ import annotations

import pytest

from memshare.retriever_trainer.selection import select, sides


def test_the_eight_lowest_are_positives_and_the_eight_highest_negatives() -> None:
    labels = [0.1, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.2]

    selection = select([*labels, *(1 - label for label in labels)])

    assert selection.positives == (1, 2, 3, 4, 5, 6, 7, 8)
    assert selection.negatives == (18, 17, 16, 15, 14, 13, 12, 11)
    assert selection.enough


def test_what_is_on_the_wrong_side_of_the_middle_is_not_used() -> None:
    selection = select([0.1, 0.2, 0.3, 0.35, 0.4, 0.45, 0.6, 0.51, 0.5])

    assert selection.positives == (0, 1, 2, 3, 4, 5)
    assert selection.negatives == (7, 6)


def test_the_middle_itself_is_neither() -> None:
    selection = select([0.5] * 8)

    assert (selection.positives, selection.negatives) == ((), ())


def test_of_equal_labels_the_earlier_is_the_lower() -> None:
    selection = select([0.2] * 10 + [0.8] * 10)

    assert selection.positives == tuple(range(8))
    assert selection.negatives == tuple(range(12, 20))


@pytest.mark.parametrize("labels", [[], [0.1], [0.9], [0.1, 0.2, 0.3], [0.6, 0.9], [0.1, 0.5], [0.5, 0.9]])
def test_a_lesson_without_both_kinds_is_not_enough(labels: list[float]) -> None:
    assert not select(labels).enough


def test_one_of_each_is_enough_and_none_is_both() -> None:
    selection = select([0.7, 0.2])

    assert (selection.positives, selection.negatives) == ((1,), (0,))
    assert selection.enough


def test_a_barred_candidate_is_no_positive_but_may_be_a_negative() -> None:
    labels = [0.1, 0.2, 0.8, 0.9]

    for chosen in (select(labels, barred={0, 3}), sides(labels, barred={0, 3})):
        assert set(chosen.positives) == {1}
        assert set(chosen.negatives) == {2, 3}


def test_a_held_out_lesson_keeps_every_candidate_but_the_undecided() -> None:
    labels = [0.1] * 6 + [0.5] + [0.9] * 7

    chosen = sides(labels)

    assert chosen.positives == tuple(range(6))
    assert chosen.negatives == tuple(range(7, 14))
