"""Reviews of a person who is not like most."""

from __future__ import annotations

from random import Random

from memshare_concepts.reviews.card import Review
from memshare_concepts.reviews.fitting import DAY


def forgetful(cards: int) -> list[list[Review]]:
    """Eight reviews of each card by somebody who forgets nearly all that is older than two days."""
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
