"""Carries the lessons of a retriever over to another encoder: the same labels, with the vectors of that one."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memshare.memory_service.stores.store import Store, Where
from memshare.retriever_trainer.consolidation.lesson_texts import remaining
from memshare.retriever_trainer.kept_lesson import packed
from memshare.retriever_trainer.lesson_log import LessonLog

BATCH = 200


def carry_over(
    old: LessonLog, new: LessonLog, store: Store, dimension: int, adapter: NDArray[np.float32] | None
) -> None:
    """Write the lessons into the log of the new encoder, whose store has all memories.

    `adapter` is what was learnt from them anew and is published with them, of shape (dimension, dimension); without
    one the pool begins untrained. A trainer makes all steps again before its next one.
    """
    lessons = [*old.lessons(), *old.held_out()]
    vectors = _vectors(store, {one for lesson in lessons for one in lesson.memories}, dimension)
    carried = []
    for lesson in lessons:
        left = remaining(lesson, vectors.keys())
        if left:
            rows = np.stack([vectors[one] for one in left.memories])
            carried.append(left.model_copy(update={"vectors": packed(rows)}))
    new.begin_with(carried, old.head().counted, adapter)


def _vectors(store: Store, ids: Collection[UUID], dimension: int) -> dict[UUID, NDArray[np.float32]]:
    wanted, any_query = list(ids), np.full(dimension, dimension**-0.5, dtype=np.float32)
    found: dict[UUID, NDArray[np.float32]] = {}
    for start in range(0, len(wanted), BATCH):
        batch = wanted[start : start + BATCH]
        for hit in store.search(Where(ids=batch), len(batch), dense=any_query, with_vectors=True):
            if hit.vector is not None:
                found[hit.memory.id] = hit.vector
    return found
