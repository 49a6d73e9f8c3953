"""The messages of the last hop: what a new memory teaches the retriever of its pool."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from memshare.broker.wire.forms import Label
from memshare.broker.wire.messages import Embedding, Message, Usage


class Candidate(Message):
    """A memory of the pool as it was before a new one: something that the retriever could have found for it."""

    id: UUID
    prompt: str | None
    answer: str
    embedding: Embedding
    on_probation: bool = False


class LessonTask(Message):
    """From the memory service to the trainer: a new memory, and what its prompt could have been answered with."""

    journey: str
    agent: str = ""
    submitter: Label = "anonymous"
    pool: Label
    memory_id: UUID
    prompt: str
    answer: str
    embedding: Embedding
    candidates: tuple[Candidate, ...]

    @property
    def barred(self) -> frozenset[int]:
        """The places of the candidates on probation, which are no good examples yet."""
        return frozenset(place for place, one in enumerate(self.candidates) if one.on_probation)


class Lesson(Message):
    """What the trainer did with a new memory.

    Accuracies are pairwise on the lessons that are never trained on, of the version in use and of what was to
    replace it; `version` is what was published, `refused` says that it would have been worse. `accuracy_at_first` is
    that of the version in use on this lesson itself, before it was learnt. The candidates in `barred` would have been
    good examples, but for being on probation.
    """

    outcome: Literal["learnt", "held out", "no update"]
    reason: str
    labelled_by: Literal["json", "logprobs"] | None = None
    positives: int = 0
    negatives: int = 0
    accuracy_before: float | None = None
    accuracy_after: float | None = None
    accuracy_at_first: float | None = None
    version: int | None = None
    refused: bool = False
    barred: tuple[UUID, ...] = ()
    usage: Usage = Usage()
