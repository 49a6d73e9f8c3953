"""Reviews: what a person learns from a pool, a card at a time."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import Field

from memshare.client.rest.methods import Asked, Calls, call
from memshare_broker.wire.messages import Message
from memshare_memory.memory import Memory

Remembered = Literal["again", "hard", "good", "easy"]
"""Forgotten, remembered with trouble, remembered, and remembered at once."""


class CardReply(Message):
    """The card that is asked next."""

    memory: Memory
    is_new: bool
    probability: float | None = Field(description="that you remember it now; of a new one it is not known")


class ReviewsReply(Message):
    """Reviews that are left of a person's day, and their reviews of a year."""

    person: str
    pool: str
    due: int
    new: int
    card: CardReply | None = Field(description="null once the day is done")
    comes_back: float | None = Field(description="when the next card is due, as Unix time in seconds")
    days: dict[str, int] = Field(description="how many were reviewed, by day (UTC) of the last year, in all pools")


class ReviewedReply(Message):
    """When a memory comes back, as Unix time in seconds."""

    memory_id: UUID
    due: float


class ReviewCalls(Calls[Asked]):
    """Reviews of a pool, by which you learn each memory when you are about to forget it."""

    @call("get_reviews", "GET", "/v1/reviews")
    def next(self, *, pool: str) -> ReviewsReply:
        """Your next card of a pool, and what is left of your day; it takes the right `recall`.

        Whoever has the token is the person who learns.
        """

    @call("post_review", "POST", "/v1/reviews", repeatable=False)
    def grade(self, pool: str, memory_id: UUID | str, grade: Remembered) -> ReviewedReply:
        """Say how well you remembered a memory; it comes back when you are about to forget it."""
