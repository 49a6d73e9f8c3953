"""How `benchmarks.sql` puts figures together."""

import pytest

from benchmarks.sql.measures import gap, share
from benchmarks.support.counts import calls_and_tokens
from benchmarks.support.orders import middle


def test_the_gap_is_the_share_of_the_way_to_what_is_possible() -> None:
    assert gap(0.4, 0.5, 0.8) == pytest.approx(0.25)
    assert gap(0.4, 0.3, 0.8) == pytest.approx(-0.25)
    assert gap(0.8, 0.8, 0.8) is None


def test_calls_are_those_since_the_first_count_for_each_memory() -> None:
    before = {"grade": {"calls": 10, "tokens": 1000}, "label": {"calls": 0, "tokens": 0}}
    after = {"grade": {"calls": 30, "tokens": 3000}, "label": {"calls": 5, "tokens": 500}}
    assert calls_and_tokens(before, after, 10) == {
        "calls": {"all": 2.5, "grade": 2.0, "label": 0.5},
        "tokens": {"all": 250.0, "grade": 200.0, "label": 50.0},
    }


def test_medians_are_taken_figure_by_figure() -> None:
    runs = [
        {"a": 1.0, "b": {"c": 5}, "d": None},
        {"a": 9.0, "b": {"c": 1}, "d": "two"},
        {"a": 2.0, "b": {"c": 2}, "d": "one"},
    ]
    assert middle(runs) == {"a": 2.0, "b": {"c": 2}, "d": "two"}


def test_a_share_of_nothing_is_zero() -> None:
    assert (share([]), share([True, False])) == (0, 0.5)
