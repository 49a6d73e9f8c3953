"""How fast a person forgets, fitted to their reviews."""

from __future__ import annotations

from math import log
from random import Random

import pytest

from memshare.broker.errors import MemshareError
from memshare.concepts.reviews import fitting
from memshare.concepts.reviews.card import Review, replayed, scheduler_of, standing_of
from memshare.concepts.reviews.fitting import DAY, fit_apart, log_loss


def forgetful(cards: int) -> list[list[Review]]:
    """The reviews of somebody who forgets nearly all that is older than two days."""
    chance = Random(1)
    found = []
    for number in range(cards):
        at, reviews = 1.7e9 + number * 3_600, []
        for _ in range(8):
            days = chance.choice((1, 2, 4, 8))
            known = chance.random() < (0.9 if days <= 2 else 0.1)
            reviews.append(Review(grade="good" if known else "again", at=at))
            at += days * DAY + 60
        found.append(reviews)
    return found


def test_the_loss_is_that_of_what_was_foretold_and_counts_reviews_of_later_days_alone() -> None:
    first = Review(grade="good", at=1.7e9)
    soon, later = (Review(grade="again", at=first.at + seconds) for seconds in (600, 5 * DAY))
    usual = scheduler_of(None)

    known = standing_of(usual, replayed(usual, [first, soon]), later.at).probability
    assert log_loss(usual, [[first, soon, later]], 0) == pytest.approx(-log(1 - known))
    assert log_loss(usual, [[first, soon, later]], later.at + 1) == 0


def test_parameters_are_fitted_in_a_process_of_their_own_and_are_better_on_reviews_they_have_not_seen() -> None:
    fitted = fit_apart(forgetful(120))

    assert fitted.reviews == 960
    assert fitted.better
    assert fitted.fitted_loss < fitted.usual_loss


def test_a_fit_that_fails_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting.sys, "executable", "/bin/false")

    with pytest.raises(MemshareError, match="pip install"):
        fit_apart(forgetful(2))
