"""Lessons and evidence: as they are kept, as examples for the learner, and how well rankings of them are; by numpy.

Kept is which memories were how good an example, with the vectors that say so. Two rankings are compared by what a user
feels of them.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memshare_broker.wire.forms import Label, Share
from memshare_broker.wire.lessons import Evidence, LabelledBy, Lesson, LessonTask
from memshare_broker.wire.messages import Embedding, Message
from memshare_memory.belief.trust import Standings
from memshare_memory.recall.retriever import Adapter, PublishedAdapter
from memshare_trainer.labels import Labels


class Figure(Message):
    """The means before and after, and the standard error of the difference where there is one."""

    before: float
    after: float
    error: float = 0.0

    @property
    def worse(self) -> bool:
        return self.fell(1)

    def fell(self, errors: float) -> bool:
        """It fell by more than so many of its errors."""
        return self.after - self.before < -errors * self.error


UNDECIDED = 0.5  # of P(¬Y), and of a gain: on one side of it a memory helps, on the other it misleads
LEAST_SPREAD = 0.2  # of the numbers of a list that are all on one side


def border(numbers: Sequence[float]) -> float | None:
    """Border between the better and the worse labels or gains of a list; None where they are all alike.

    Where all help, or all mislead, that is the middle between the lowest and the highest: a pool of one form has an
    order, too, as INMS has it, which takes the lower and the upper half (arXiv 2404.09982).
    """
    low, high = min(numbers, default=UNDECIDED), max(numbers, default=UNDECIDED)
    if low < UNDECIDED < high:
        return UNDECIDED
    return (low + high) / 2 if high - low >= LEAST_SPREAD else None


@dataclass(frozen=True)
class Example:
    """A prompt, and memories that are known to help there or not.

    A labelled lesson knows the gain of each memory. Evidence knows that of the first one alone, which was followed; the
    others stood beside it, and have no number (NaN).
    """

    query: Array  # (dimension,), of length 1
    documents: Array  # (documents, dimension), each of length 1
    gains: Array  # (documents,), 0 misleads to 1 helps; NaN where that is not known
    ids: tuple[UUID, ...]
    submitters: tuple[str, ...]
    by: str  # whose answer, or whose word, says so
    weight: float = 1.0

    @property
    def is_lesson(self) -> bool:
        """True if it is a list in which every memory is labelled."""
        return not np.isnan(self.gains).any() and len(self.ids) > 1


def scores(adapter: Adapter, examples: Sequence[Example]) -> list[Array]:
    """The scores by which the memories of each example are ranked."""
    sizes = [len(example.ids) for example in examples]
    queries = np.repeat(np.stack([example.query for example in examples]), sizes, axis=0)
    documents = np.concatenate([example.documents for example in examples])
    together = adapter.scores(queries, documents, [name for example in examples for name in example.submitters])
    return np.split(together, np.cumsum(sizes)[:-1])


def gains_of(examples: Sequence[Example]) -> list[Array]:
    """The gain of each memory; one that stood beside a followed one, of which nobody knows, gets the mean of those."""
    known = [float(example.gains[0]) for example in examples if not example.is_lesson]
    usual = np.float32(np.mean(known) if known else 0.5)
    return [np.where(np.isnan(example.gains), usual, example.gains) for example in examples]


Array = NDArray[np.float32]


class RankingComparison(NamedTuple):
    """Two rankings of the same lessons."""

    first: Figure  # gain of the candidate that is ranked first
    ndcg: Figure  # of all candidates
    lessons: int

    @property
    def worse(self) -> bool:
        """True if one of the two figures fell by more than its error."""
        return self.first.worse or self.ndcg.worse


def compare(gains: Sequence[Array], before: Sequence[Array], after: Sequence[Array]) -> RankingComparison:
    """Compare two rankings, lesson by lesson.

    For each lesson: the gains of its candidates (how likely each one helps, 0 to 1), and their scores before and
    after, of the same shape. Raises `ValueError` without lessons.
    """
    if not gains:
        raise ValueError("there are no lessons to compare on")
    old, new = (
        np.array([_quality(gain, score) for gain, score in zip(gains, scores, strict=True)])
        for scores in (before, after)
    )
    first, ndcg = (paired(old[:, column], new[:, column]) for column in (0, 1))
    return RankingComparison(first, ndcg, len(gains))


def _quality(gains: Array, scores: Array) -> tuple[float, float]:
    """The gain of what comes first, and nDCG; where candidates tie, the one with the least gain comes first."""
    ranked = gains[np.lexsort((gains, -scores))]
    discount = 1 / np.log2(np.arange(len(gains)) + 2)
    ideal = float(np.sort(gains)[::-1] @ discount)
    return float(ranked[0]), float(ranked @ discount) / ideal if ideal else 1.0


def paired(before: Array, after: Array) -> Figure:
    """The means of two measurements of the same items, and the standard error of their difference.

    A few items that agree do not make the error nothing.
    """
    count = len(before)
    error = float(np.std(after - before, ddof=1)) / count**0.5 if count > 1 else 0.0
    return Figure(before=float(before.mean()), after=float(after.mean()), error=max(error, 1 / (2 * count)))


class Head(NamedTuple):
    """Where a retriever's learning stands."""

    epoch: int  # grows when the past is changed (a version is put back): what a trainer holds in memory is void then
    counted: int  # lessons, learnt and held out
    issued: int  # the last version's number; no number is used twice
    version: int  # the version in use
    checkpoint_at: int  # lessons that had been counted when the state was last stored
    updates: int = 0  # messages that came to something
    steps: int = 0  # how many the learner has made; those after the last stored state are made again


class Update(Message):
    """Outcome of a message, its time (Unix time in seconds), and the number of lessons counted by then."""

    at: float
    memory_id: UUID | None
    counted: int
    lesson: Lesson


class LessonChange(NamedTuple):
    """Changes that a lesson makes."""

    update: Update
    standings: Standings
    stored: StoredLesson | None = None
    evidence: Mapping[str, Evidence] = {}  # of those that wait, by their texts
    checkpoint: str | None = None
    steps: int = 0
    published: PublishedAdapter | None = None


class StoredLesson(Message):
    """A lesson of the log, with its number.

    `labels` has P(¬Y) of every candidate, `submitters` whose each is, `weight` how much they count;
    the vectors, in half precision, are those of the new memory and of the candidates.
    """

    number: int
    memory_id: UUID
    by: Label
    labelled_by: LabelledBy
    labels: dict[UUID, float]
    submitters: tuple[Label, ...]
    vectors: str
    weight: Share = 1.0

    @classmethod
    def of(cls, number: int, task: LessonTask, labels: Labels, weight: float = 1.0) -> StoredLesson:
        """The lesson with this number, of a task with a memory."""
        if task.memory_id is None:
            raise ValueError("a lesson is about a memory")
        rows = [task.embedding.unpack(), *(candidate.embedding.unpack() for candidate in task.candidates)]
        return cls(
            number=number,
            memory_id=task.memory_id,
            by=task.submitter,
            labelled_by=labels.way,
            labels={candidate.id: label for candidate, label in zip(task.candidates, labels.values, strict=True)},
            submitters=tuple(candidate.submitter for candidate in task.candidates),
            vectors=packed(np.stack(rows)),
            weight=weight,
        )

    @property
    def positives(self) -> tuple[UUID, ...]:
        """The candidates that help, or help more than the others."""
        between = border([*self.labels.values()])
        return tuple(memory for memory, label in self.labels.items() if between is not None and label < between)

    @property
    def negatives(self) -> tuple[UUID, ...]:
        """The candidates that mislead, or help less than the others."""
        between = border([*self.labels.values()])
        return tuple(memory for memory, label in self.labels.items() if between is not None and label > between)

    @property
    def memories(self) -> tuple[UUID, ...]:
        """Whose vectors are kept, in their order: the new memory, and the candidates."""
        return (self.memory_id, *self.labels)

    def example(self) -> Example:
        """The lesson as the learner sees it."""
        rows = self._rows()
        return Example(
            query=rows[0],
            documents=rows[1:],
            gains=1 - np.array(list(self.labels.values()), dtype=np.float32),
            ids=tuple(self.labels),
            submitters=self.submitters,
            by=self.by,
            weight=self.weight,
        )

    def with_vectors(self, vectors: Mapping[UUID, Array]) -> StoredLesson | None:
        """The lesson of the memories that have vectors here; None where there is nothing left to tell apart."""
        left = self.without({memory for memory in self.labels if memory not in vectors})
        if self.memory_id not in vectors or not (left.positives and left.negatives):
            return None
        return left.model_copy(update={"vectors": packed(np.stack([vectors[memory] for memory in left.memories]))})

    def without(self, gone: Collection[UUID]) -> StoredLesson:
        if not gone:
            return self
        left = [place for place, memory in enumerate(self.labels) if memory not in gone]
        rows = self._rows()
        return self.model_copy(
            update={
                "labels": {memory: label for memory, label in self.labels.items() if memory not in gone},
                "submitters": tuple(self.submitters[place] for place in left),
                "vectors": packed(rows[[0, *(place + 1 for place in left)]]),
            }
        )

    def _rows(self) -> Array:
        rows = np.frombuffer(base64.b64decode(self.vectors), dtype="<f2").astype(np.float32)
        return rows.reshape(len(self.memories), -1)


def example_of(evidence: Evidence) -> Example:
    """Evidence as the learner sees it: nobody knows the gain of what stood beside the memory that was followed."""
    shown = (evidence.memory, *evidence.beside)
    return Example(
        query=evidence.prompt.unpack(),
        documents=np.stack([memory.embedding.unpack() for memory in shown]),
        gains=np.array([evidence.helped, *[np.nan] * len(evidence.beside)], dtype=np.float32),
        ids=tuple(memory.id for memory in shown),
        submitters=tuple(memory.submitter for memory in shown),
        by=evidence.by,
        weight=evidence.weight,
    )


def evidence_with(evidence: Evidence, encoder: str, prompt: Array, vectors: Mapping[UUID, Array]) -> Evidence | None:
    """The same with another encoder's vectors, of the prompt and by memory; None where the memory is gone."""
    if evidence.memory.id not in vectors:
        return None
    shown = [
        memory.model_copy(update={"embedding": Embedding.pack(encoder, vectors[memory.id])})
        for memory in (evidence.memory, *evidence.beside)
        if memory.id in vectors
    ]
    changes = {"prompt": Embedding.pack(encoder, prompt), "memory": shown[0], "beside": tuple(shown[1:])}
    return evidence.model_copy(update=changes)


def packed(rows: Array) -> str:
    """Vectors of shape (n, dimension) as text."""
    return base64.b64encode(rows.astype("<f2").tobytes()).decode()
