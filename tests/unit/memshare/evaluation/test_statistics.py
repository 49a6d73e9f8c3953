from __future__ import annotations

import pytest

from memshare.evaluation.result import Interval, interval, paired_p


def test_the_interval_is_students() -> None:
    # 2.776 is t of .975 with four degrees of freedom; the standard error of 1 … 5 is the root of 2.5 / 5.
    found = interval([1, 2, 3, 4, 5])

    assert (found.mean, found.high - 3) == (3, pytest.approx(2.776 * 0.5**0.5, abs=1e-3))


def test_one_value_and_equal_values_are_their_own_interval() -> None:
    assert interval([7.0]) == interval([7.0, 7.0]) == Interval(mean=7, low=7, high=7)


def test_eight_pairs_that_all_rise_have_the_p_of_all_signs() -> None:
    assert paired_p([2, 3, 4, 5, 6, 7, 8, 9], [1] * 8) == pytest.approx(2 / 2**8)


def test_pairs_that_do_not_differ_prove_nothing() -> None:
    assert paired_p([3, 3], [3, 3]) == 1


def test_many_pairs_give_the_same_p_each_time() -> None:
    ours, theirs = [number % 7 for number in range(60)], [number % 5 for number in range(60)]

    assert paired_p(ours, theirs) == paired_p(ours, theirs) < 0.01
