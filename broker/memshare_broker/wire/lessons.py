"""The messages of the last hop: what a new memory, and graded answers, teach the retriever of their pool."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import Field

from memshare_broker.wire.comparisons import MOST, Compared
from memshare_broker.wire.forms import Label, Share
from memshare_broker.wire.messages import Embedding, Message, PaidTask, Usage


class Candidate(Message):
    """A memory of the pool as it was before a new one: something that the retriever could have found for it."""

    id: UUID
    prompt: str | None
    answer: str
    embedding: Embedding
    submitter: Label = "anonymous"


class LessonTask(PaidTask):
    """From the memory service to the trainer: a new memory, and what its prompt could have been answered with.

    Without a memory there is new evidence alone to learn from (`Evidence`). `rivals` are those of the candidates that
    may contradict it.
    """

    memory_id: UUID | None = None
    prompt: str = ""
    answer: str = ""
    embedding: Embedding
    candidates: tuple[Candidate, ...] = ()
    rivals: tuple[UUID, ...] = Field(default=(), max_length=MOST)


class UsedMemory(Message):
    """A memory that was shown in a prompt, with the vector by which it is found, and whose it is.

    `curated` says that a person brought it in.
    """

    id: UUID
    embedding: Embedding
    submitter: Label
    curated: bool = False


class Evidence(Message):
    """What somebody's graded task, or their feedback, says of a memory: whether it helped (1) or misled (0).

    An `outcome` is the grade of an answer of memshare's own agents, which may have been `accepted`; of an `offer`,
    somebody outside answered, and says what was shown.
    `memory` is the one that the answer followed, `beside` what was shown with it. `weight`, 0 to 1, is how much that
    says. The last word of a person about a memory replaces their earlier ones. `pair` is the memory that the task's own
    answer is, or would have become.
    """

    by: Label
    source: Literal["outcome", "offer", "feedback"]
    text: str
    prompt: Embedding
    pair: UUID | None = None
    memory: UsedMemory
    beside: tuple[UsedMemory, ...] = ()
    helped: Share
    weight: Share = 1.0
    accepted: bool = False
    at: float = Field(description="Unix time in seconds")

    @property
    def key(self) -> str:
        """What it is kept under: a person's last word about a memory is the one that counts."""
        return f"{self.memory.id} {self.by}"


class Lesson(Message):
    """What the trainer did with a message.

    `accuracy` and `ndcg` are of the lessons and outcomes that are never trained on, with the version in use and with
    what was to replace it: how likely the memory that is ranked first helps, and nDCG of the ranking, 0 to 1. `version`
    is what was published, `refused` says that it would have been worse. `evidence` counts the words of `Evidence` that
    were learnt from. `compared` says which of its rivals contradict the memory, where they were asked about with it.
    `model` is the one that was asked for labels, which weigh what they are better than chance, 0 to 1.
    """

    outcome: Literal["learnt", "held out", "no update"]
    reason: str
    labelled_by: Literal["json", "logprobs"] | None = None
    model: str | None = None
    positives: int = 0
    negatives: int = 0
    evidence: int = 0
    accuracy_before: float | None = None
    accuracy_after: float | None = None
    ndcg_before: float | None = None
    ndcg_after: float | None = None
    version: int | None = None
    refused: bool = False
    compared: Compared | None = None
    usage: Usage = Usage()
    weight: Share = 1.0
