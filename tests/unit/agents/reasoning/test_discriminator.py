from __future__ import annotations

import pytest

from memshare_agents.reasoning.answers import shares_of


def test_shares_that_fit_are_left_as_they_are() -> None:
    assert shares_of([("k1", 0.25), ("k2", 0.5)], ["k1", "k2", "k3"]) == {"k1": 0.25, "k2": 0.5}


def test_shares_over_one_are_scaled_down_together() -> None:
    shares = shares_of([("k1", 1.0), ("k2", 0.6)], ["k1", "k2"])

    assert shares == pytest.approx({"k1": 0.625, "k2": 0.375})
    assert sum(shares.values()) <= 1


def test_items_that_there_are_not_and_shares_of_nothing_are_left_out() -> None:
    assert shares_of([("k9", 0.5), ("k1", 0.0), ("k2", 0.5)], ["k1", "k2"]) == {"k2": 0.5}


def test_an_item_named_twice_counts_once() -> None:
    assert shares_of([("k1", 0.4), ("k1", 0.3)], ["k1"]) == {"k1": 0.4}
