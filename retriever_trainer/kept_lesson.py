"""A lesson as it is kept: which memories were how good an example for a new one, with their vectors."""

from __future__ import annotations

import base64
from typing import Literal
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memshare.broker.wire.lessons import LessonTask
from memshare.broker.wire.messages import Message
from memshare.retriever_trainer.accuracy import Example
from memshare.retriever_trainer.labels import Labels
from memshare.retriever_trainer.reservoir import is_held_out
from memshare.retriever_trainer.selection import select, sides


class KeptLesson(Message):
    """One lesson of the log, of which each has its number.

    `labels` has P(¬Y) of every candidate; the vectors, in half precision, are those of the selected ones alone.
    """

    number: int
    memory_id: UUID
    labelled_by: Literal["json", "logprobs"]
    labels: dict[UUID, float]
    positives: tuple[UUID, ...]
    negatives: tuple[UUID, ...]
    vectors: str

    @classmethod
    def of(cls, number: int, task: LessonTask, labels: Labels) -> KeptLesson:
        """The lesson with this number: it teaches with the clear ends, and held out checks with every candidate."""
        selection = (sides if is_held_out(number) else select)(labels.values, task.barred)
        ids = [candidate.id for candidate in task.candidates]
        chosen = (*selection.positives, *selection.negatives)
        rows = [task.embedding.unpack(), *(task.candidates[index].embedding.unpack() for index in chosen)]
        return cls(
            number=number,
            memory_id=task.memory_id,
            labelled_by=labels.way,
            labels=dict(zip(ids, labels.values, strict=True)),
            positives=tuple(ids[index] for index in selection.positives),
            negatives=tuple(ids[index] for index in selection.negatives),
            vectors=packed(np.stack(rows)),
        )

    @property
    def memories(self) -> tuple[UUID, ...]:
        """Whose vectors are kept, in their order: the new memory, the positives, the negatives."""
        return (self.memory_id, *self.positives, *self.negatives)

    def example(self) -> Example:
        """The lesson as the learner sees it."""
        rows = np.frombuffer(base64.b64decode(self.vectors), dtype="<f2").astype(np.float32)
        query, *documents = rows.reshape(len(self.memories), -1)
        return Example(
            query=query,
            documents=np.stack(documents),
            positive=np.arange(len(documents)) < len(self.positives),
        )


def packed(rows: NDArray[np.float32]) -> str:
    """Vectors of shape (n, dimension) as text."""
    return base64.b64encode(rows.astype("<f2").tobytes()).decode()
