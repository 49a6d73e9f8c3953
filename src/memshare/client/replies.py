"""Replies to the calls of `Memory` itself; the replies to the other calls stand beside them."""

from __future__ import annotations

import time
from typing import Literal
from uuid import UUID

from pydantic import Field

from memshare_broker.wire.messages import Message, Turn
from memshare_memory.memory import Status


class RecalledMemory(Message):
    """A memory that fits a task, and why it is shown."""

    id: UUID
    pool: str = ""
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
    credits: int = Field(description="verdicts: grades and feedback after it was shown, of a statement if followed")
    why: str


class Recalled(Message):
    """Recalled memories, best first. Name `recall_id` with your answer and with feedback."""

    recall_id: UUID
    pool: str
    memories: tuple[RecalledMemory, ...]
    messages: tuple[Turn, ...] | None = Field(default=None, description="turns to put directly before the task")
    retriever_version: int
    far: str = Field(default="", description="that none is near enough to be an answer, and how near the nearest is")


class Accepted(Message):
    """Receipt of a task or pair: it is written down, and its journey goes on by itself."""

    id: str
    journey: str = Field(description="where to read what becomes of it")


class FeedbackTaken(Message):
    """The memories whose worth was told now, and those of which it had been told before: that stands."""

    taken: tuple[UUID, ...]
    known: tuple[UUID, ...]
    hidden: UUID | None = Field(default=None, description="what became of a wrong answer, and is hidden now or still")
    stands: str | None = Field(default=None, description="the earlier word on the answer, for which this one was left")
    still_shown: tuple[UUID, ...] = Field(
        default=(), description="to who curates: memories that say the same to like prompts, and may be wrong, too"
    )


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
    pools: tuple[str, ...] = Field(default=(), description="its spaces, of which `pool` is the first; none: that alone")
    model: str
    rubric: str | None
    workers: int


class AgentKind(Message):
    """A kind of task that an agent knows; what is null is as for the agent."""

    instructions: str
    recall: str | None
    claims: bool | None


class AgentFileReply(Message):
    """An agent as its file says."""

    description: str
    instructions: str = Field(description="of a task that names no kind")
    kinds: dict[str, AgentKind]
    memories: int | None = Field(description="that a task is shown, at most; none: learnt from grades")
    recall: str
    claims: bool = Field(description="false: its answers are made up, and contradict nothing")
    engine: str | None = Field(description="null: one call of the model")
    models: dict[str, str] = Field(description="by operator of the engine, where it differs")
    limits: dict[str, float] = Field(description="of one run of the engine")


class WholeAgentReply(AgentReply):
    """An agent of memshare, with its instructions."""

    file: AgentFileReply | None = Field(description="null where the machine of `memshare serve` does not have it")


class CriterionReply(Message):
    """A criterion by which answers are graded, and its maximum of points."""

    name: str
    points: float
    kinds: tuple[str, ...] | None
    description: str = ""


class RubricReply(Message):
    """How answers are graded, and from which total on they are remembered."""

    name: str
    domain: str
    version: str
    approved: bool
    threshold: float | Literal["mean-of-seeds"]
    criteria: tuple[CriterionReply, ...]
    doubts: tuple[str, ...] = Field(default=(), description="why a model cannot grade by it, where it is often unsure")


class WorkerReply(Message):
    """A worker process: the queues that it serves, and its models."""

    name: str
    queues: tuple[str, ...]
    models: tuple[str, ...]


class WaitingReply(Message):
    """Why some messages wait beside their queue."""

    why: str
    messages: int
    until: float = Field(
        description="when the first of them goes on, as Unix time in seconds; past: when a worker takes it up"
    )

    @property
    def is_due(self) -> bool:
        """True if its time has come, so that it waits for a worker alone."""
        return self.until <= time.time()


class QueueReply(Message):
    """A queue now."""

    name: str
    open: int = Field(description="accepted and not ended")
    a_minute: int = Field(description="how many ended within the last whole minute")
    oldest: float = Field(description="age of the oldest open message that is not set aside, in seconds")
    workers: int
    waiting: tuple[WaitingReply, ...] = Field(description="set aside, by reason")


class StatusReply(Message):
    """Current status. Whoever does not see all pools is told of the queues of its own agents alone."""

    agent_models: dict[str, str] = Field(description="the model of each agent; 'offline' is none")
    scorer_models: tuple[str, ...]
    answers_a_minute: int = Field(description="within the last whole minute; what was given up is no answer")
    graded: int
    accepted: int
    queues: tuple[QueueReply, ...]
    workers: tuple[WorkerReply, ...]
    failed_tries: dict[str, int] = Field(description="how many tries failed, ever, by reason")
    doubts: tuple[str, ...] = Field(default=(), description="what models were found unfit for")
    failing: tuple[str, ...] = Field(
        default=(),
        description="what fails: models of whose last six calls half did, a Redis without room, workers of one name; "
        "a sentence each",
    )
    busy: tuple[str, ...] = Field(
        default=(), description="models' servers that have as many calls as they may now: a sentence each"
    )
    dead_letters: int
