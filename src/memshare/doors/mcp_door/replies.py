"""What tools answer where REST would tell a model more than it needs."""

from __future__ import annotations

from uuid import UUID

from pydantic import Field

from memshare.client.replies import FoundMemory, JourneyReply
from memshare.terminal.quoted_answer import whose_answer
from memshare_broker.wire.messages import Message
from memshare_memory.memory import Status


class AgentAnswer(Message):
    """What an agent answered, or whose answer it is; without an answer, `state` and `why` say how far it is."""

    journey: str
    state: str
    answer: str | None
    why: str | None = Field(
        description="why it waits, was cancelled or was given up; or, without a model, whose answer it is"
    )


class Found(Message):
    """A memory that a search found."""

    id: UUID
    pool: str
    prompt: str | None
    answer: str
    kind: str | None
    submitter: str
    status: Status
    score: float | None
    similarity: float


class AllFound(Message):
    """What was found, the nearest first."""

    memories: tuple[Found, ...]


def answer_of(journey: JourneyReply) -> AgentAnswer:
    quoted = whose_answer(journey.quoted) if journey.quoted else None
    why = journey.error or journey.cancelled or journey.waits or quoted
    return AgentAnswer(journey=journey.id, state=journey.state, answer=journey.answer, why=why)


def found(one: FoundMemory) -> Found:
    return Found(**one.memory.model_dump(include=Found.model_fields.keys() - {"similarity"}), similarity=one.similarity)
