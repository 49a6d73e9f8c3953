"""What the calls of `Memory` itself are answered with; the replies of the others stand beside them."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import Field

from memshare_broker.wire.messages import Message, Turn
from memshare_memory.memory import Status
from memshare_memory.recall.lift import Lift


class RecalledMemory(Message):
    """A memory that fits a task, and why it is shown."""

    id: UUID
    prompt: str | None
    answer: str
    agent: str | None
    kind: str | None
    submitter: str
    score: float | None
    status: Status
    created: float
    similarity: float
    credibility: float = Field(description="1 where nothing is known yet; below 0.4 it would not be shown")
    credits: int = Field(description="how often its worth was told")
    why: str


class Recalled(Message):
    """What was recalled, best first. Name `recall_id` with your answer and with feedback."""

    recall_id: UUID
    pool: str
    memories: tuple[RecalledMemory, ...]
    messages: tuple[Turn, ...] | None = Field(default=None, description="turns to put before the task")
    retriever_version: int


class Accepted(Message):
    """What was handed in is written down, and its journey goes on by itself."""

    id: str
    journey: str = Field(description="where to read what becomes of it")


class FeedbackTaken(Message):
    """The memories whose worth was told now, and those of which it had been told before: that stands."""

    taken: tuple[UUID, ...]
    known: tuple[UUID, ...]


class PoolReply(Message):
    """A pool, how many memories it has, and the agents that share it."""

    name: str
    memories: int
    agents: tuple[str, ...]


class AgentReply(Message):
    """An agent of memshare. `workers` is how many serve it now."""

    name: str
    kinds: tuple[str, ...]
    pool: str
    model: str
    rubric: str | None
    workers: int


class CriterionReply(Message):
    """What an answer is graded by, and what for at most."""

    name: str
    points: float
    kinds: tuple[str, ...] | None


class RubricReply(Message):
    """How answers are graded, and from which total on they are remembered."""

    name: str
    domain: str
    version: str
    approved: bool
    threshold: float | Literal["mean-of-seeds"]
    criteria: tuple[CriterionReply, ...]


class StatsReply(Message):
    """How many memories there are, what showing one does, and how many messages of each queue are open."""

    memories: int
    by_pool: dict[str, int]
    lift: dict[str, Lift] = Field(description="by pool, where a task was counted")
    open: dict[str, int]
