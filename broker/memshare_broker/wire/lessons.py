"""The messages of the last hop: what a new memory, and graded answers, teach the retriever of their pool."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from memshare_broker.wire.forms import Label, Share
from memshare_broker.wire.messages import Embedding, Message, PaidTask, Usage, derived_id

MOST = 4  # memories with which one is compared
LONGEST_TEXT = 4_000  # characters of a prompt or an answer that travel


class Said(Message):
    """The text of a memory; a statement has no prompt, or the question that it answers."""

    id: UUID
    prompt: str | None
    answer: str

    @classmethod
    def of(cls, memory_id: UUID, prompt: str | None, answer: str) -> Said:
        return cls(id=memory_id, prompt=prompt and prompt[:LONGEST_TEXT], answer=answer[:LONGEST_TEXT])

    @property
    def digest(self) -> UUID:
        """Another one as soon as the text is."""
        return derived_id("said", self.prompt or "", self.answer)


class CompareTask(PaidTask):
    """From the memory service to the scorer: which of `others` cannot be true together with `memory`?"""

    memory: Said
    others: tuple[Said, ...] = Field(min_length=1, max_length=MOST)


class Compared(Message):
    """The scorer's reply: the memories that contradict `memory_id`, each with the reason."""

    memory_id: UUID
    contradicted: dict[UUID, str]
    compared: int
    model: str
    usage: Usage


class ComparedPairs(Message):
    """From the scorer or the trainer to the memory service: what was said of a memory and each of these others.

    `said` has the digest of what each of them said then.
    """

    journey: str
    pool: Label
    compared: Compared
    others: tuple[UUID, ...]
    said: dict[UUID, UUID] = Field(default={})


class NotedPairs(Message):
    """Reply of the memory service: how many pairs it noted; none of which a memory is gone, or says something else."""

    memory_id: UUID
    noted: int


Level = Literal["-1", "0", "1", "2", "3", "4"]
Concepts = dict[Level, Annotated[tuple[Label, ...], Field(max_length=30)]]
"""Names by level: -1 subjects, 0 the topic, 1 to 4 ever more general."""


class ExtractTask(PaidTask):
    """From the memory service to the concept worker: which concepts does a memory have?

    Its text is read from the pool when its turn comes.
    """

    memory_id: UUID


class Extracted(Message):
    """From the concept worker to the memory service: the concepts of a memory.

    `said` names the text that they are of, as `memshare_memory.memory.memory_id` does. Without concepts nobody
    was asked, for the memory is gone or has some already, or there is no model.
    """

    journey: str
    pool: Label
    memory_id: UUID
    said: UUID | None = None
    concepts: Concepts = Field(default={})
    model: str | None = None
    usage: Usage = Usage()


class NotedConcepts(Message):
    """Reply of the memory service to the concepts of a memory.

    "gone" is a memory that was forgotten meanwhile, "changed" one that says something else by now.
    """

    memory_id: UUID
    outcome: Literal["written", "known", "gone", "changed"]


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
    may contradict it. `labels` are P(¬Y) of each candidate, where the ways in which the answers are made tell it; else
    a model is asked for them.
    """

    memory_id: UUID | None = None
    prompt: str = ""
    answer: str = ""
    embedding: Embedding
    candidates: tuple[Candidate, ...] = ()
    labels: tuple[Share, ...] = ()
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
    """Somebody's graded task, or their feedback, as evidence on a memory: whether it helped (1) or misled (0).

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
        """Key under which it is kept: a person's last word about a memory is the one that counts."""
        return f"{self.memory.id} {self.by}"


LabelledBy = Literal["json", "logprobs", "answers alike"]


class Lesson(Message):
    """The trainer's report on a message.

    `accuracy` and `ndcg` are of the lessons and outcomes that are never trained on, with the version in use and with
    what was to replace it: how likely the memory that is ranked first helps, and nDCG of the ranking, 0 to 1. `version`
    is what was published, `refused` says that it would have been worse. `evidence` counts the words of `Evidence` that
    were learnt from. `compared` says which of its rivals contradict the memory, where they were asked about with it.
    `model` is the one that was asked for labels, if one was, which weigh what they are better than chance, 0 to 1.
    """

    outcome: Literal["learnt", "held out", "no update"]
    reason: str
    labelled_by: LabelledBy | None = None
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
