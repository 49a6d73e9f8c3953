"""What the doors answer."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import Field

from memshare_broker.wire.grades import Score
from memshare_broker.wire.lessons import Lesson
from memshare_broker.wire.messages import Message, Quoted, Shown, Step, Turn, Usage
from memshare_memory.memory import Memory, Status
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


class FoundMemory(Message):
    """A memory that a search found."""

    memory: Memory
    similarity: float


class SearchReply(Message):
    """What was found, the nearest first."""

    memories: tuple[FoundMemory, ...]


class MemoryReply(Message):
    """A memory, what it has been worth, and the memories that contradict it."""

    memory: Memory
    version: str = Field(description="what a change of it names; the same as its ETag")
    credibility: float
    credits: int
    lift: Lift
    conflicts: tuple[UUID, ...]


class MemoriesReply(Message):
    """Some memories, and the cursor of the next page, if there is one."""

    memories: tuple[Memory, ...]
    next: str | None


class Forgotten(Message):
    """What went into the trash, where it stays for 30 days."""

    ids: tuple[UUID, ...]


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


class DeadLetterReply(Message):
    """A message that was given up."""

    id: str
    journey: str
    task: str
    pool: str | None
    reason: str
    error: str
    tries: int
    died: float
    retriable: bool = Field(description="false for one that could not be read, or proved nothing")


class Retried(Message):
    """A message that is back in its queue; `retried` is false where somebody else was first."""

    id: str
    retried: bool


class Dropped(Message):
    """A message that is forgotten; its journey keeps the reason."""

    id: str


class StatsReply(Message):
    """How many memories there are, what showing one does, and how many messages of each queue are open."""

    memories: int
    by_pool: dict[str, int]
    lift: dict[str, Lift] = Field(description="by pool, where a task was counted")
    open: dict[str, int]
