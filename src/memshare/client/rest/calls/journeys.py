"""Journeys: read, waited for, followed as they change, or ended."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import Field

from memshare.client.rest.methods import Asked, Calls, call, stream
from memshare_broker.wire.grades import Score
from memshare_broker.wire.lessons import Lesson
from memshare_broker.wire.messages import Message, Quoted, Shown, Step, Usage


class JourneyReply(Message):
    """What became of a task or of a pair so far: what is not known yet is null."""

    id: str
    what: Literal["task", "standard answer", "seed"]
    state: Literal["queued", "asked", "answered", "graded", "cancelled", "settled", "dead"]
    ended: bool
    agent: str
    pool: str | None
    kind: str | None
    submitter: str
    submitted: float
    prompt: str
    answer: str | None
    model: str | None
    memories: tuple[Shown, ...]
    withheld: Shown | None = Field(description="a memory that was recalled and, at random, not shown")
    quoted: Quoted | None = Field(description="the memory whose answer it is, word for word, as there is no model")
    recall_id: UUID | None
    usage: Usage | None
    seconds: float | None
    steps: tuple[Step, ...]
    score: Score | None
    memory_id: UUID | None
    outcome: str | None
    reason: str | None
    lesson: Lesson | None
    feedback: dict[UUID, float]
    waits: str | None = Field(description="why it waits beside its queue")
    cancelled: str | None
    error: str | None = Field(description="why it was given up")


class Cancelled(Message):
    """What became of the wish to end a journey; one that is running ends after its stage."""

    id: str
    outcome: Literal["cancelled", "running", "ended", "unknown"]


class Journeys(Calls[Asked]):
    """What became of tasks and pairs."""

    @call("get_journey", "GET", "/v1/journeys/{journey_id}")
    def get(self, journey_id: str, *, wait: float = 0.0) -> JourneyReply:
        """What became of a task or of a pair so far.

        Waits up to `wait` seconds (60 at most) for its end.
        """

    @stream("get_events", "/v1/journeys/{journey_id}/events")
    def events(self, journey_id: str) -> JourneyReply:
        """The journey at each of its changes, as server-sent events named by its state, until it has ended.

        A stream that breaks off, or is silent for 15 seconds and `timeout`, is asked for again; no state comes twice.
        Raises `Unreachable` where that fails `tries` times in a row. Leave the loop when you have seen enough.
        """

    @call("delete_journey", "DELETE", "/v1/journeys/{journey_id}")
    def cancel(self, journey_id: str) -> Cancelled:
        """Cancel an unfinished journey."""
