"""How fast a person forgets, fitted to their reviews."""

from __future__ import annotations

from math import log

import pytest

from memshare_broker.errors import MemshareError
from memshare_concepts.reviews import fitting
from memshare_concepts.reviews.card import Review, replayed, scheduler_of, standing_of
from memshare_concepts.reviews.fitting import DAY, fit_apart, log_loss
from tests.support.reviews import forgetful


def test_the_loss_is_that_of_what_was_foretold_and_counts_reviews_of_later_days_alone() -> None:
    first = Review(grade="good", at=1.7e9)
    soon, later = (Review(grade="again", at=first.at + seconds) for seconds in (600, 5 * DAY))
    usual = scheduler_of(None)

    known = standing_of(usual, replayed(usual, [first, soon]), later.at).probability
    assert log_loss(usual, [[first, soon, later]], 0) == pytest.approx(-log(1 - known))
    assert log_loss(usual, [[first, soon, later]], later.at + 1) == 0


def test_a_fit_that_fails_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting.sys, "executable", "/bin/false")

    with pytest.raises(MemshareError, match="pip install"):
        fit_apart(forgetful(2))
