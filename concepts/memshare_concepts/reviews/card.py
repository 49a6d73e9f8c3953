"""A card: what a person said of a memory and when. When it is due follows from that alone, by FSRS.

So nothing else is stored, and other parameters of forgetting count for all cards at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal
from uuid import UUID

from fsrs import Card as FsrsCard
from fsrs import Rating, Scheduler, State
from pydantic import Field

from memshare_broker.wire.forms import Label, Moment
from memshare_broker.wire.messages import Message

RETENTION = 0.9
"""A card is due when the probability that it is still known falls to this."""

WELL_KNOWN = 0.9
"""Whoever remembers a memory with a higher probability knows it well."""

Grade = Literal["again", "hard", "good", "easy"]
GRADES: tuple[Grade, ...] = ("again", "hard", "good", "easy")
"""Forgotten, remembered with trouble, remembered, and remembered at once: 1 to 4 in FSRS."""


class Review(Message):
    """One answer of a person: how well they remembered, and when (Unix time in seconds)."""

    grade: Grade
    at: Moment


class Card(Message):
    """What a person said of one memory, the oldest first."""

    pool: Label
    reviews: tuple[Review, ...] = ()


class Ungraded(Message):
    """What a person typed and nobody graded yet: the question, and the memories that it needs."""

    pool: Label
    memories: tuple[UUID, ...] = Field(min_length=1)
    question: str
    answer: str


@dataclass(frozen=True)
class CardState:
    """How well a memory is known, as far as its reviews tell."""

    due: float
    """Unix time in seconds."""
    probability: float
    """That it is remembered now."""
    stability: float
    """Days until the probability falls to .9."""
    difficulty: float
    """From 1 to 10."""
    learnt: bool
    """Whether it is past its first steps of minutes, and comes back after days."""


SCHEDULER = Scheduler(desired_retention=RETENTION, enable_fuzzing=False)
"""When a card comes back, by the usual parameters of FSRS."""


def standing_of(card: FsrsCard, now: float) -> CardState:
    """How well a memory is known."""
    return CardState(
        due=card.due.timestamp(),
        probability=SCHEDULER.get_card_retrievability(card, _moment(now)),
        stability=card.stability or 0.0,
        difficulty=card.difficulty or 0.0,
        learnt=card.state == State.Review,
    )


def replayed(reviews: Sequence[Review]) -> FsrsCard:
    """The card of FSRS after some reviews, one at least."""
    card = FsrsCard(card_id=0, due=_moment(reviews[0].at))
    for review in reviews:
        card, _ = SCHEDULER.review_card(card, Rating(GRADES.index(review.grade) + 1), _moment(review.at))
    return card


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
