"""Carries the lessons of a retriever over to another encoder: the same labels, with the vectors of that one."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memshare.memory_service.stores.store import Store
from memshare.retriever_trainer.consolidation.lesson_texts import remaining
from memshare.retriever_trainer.kept_lesson import packed
from memshare.retriever_trainer.lesson_log import LessonLog

BATCH = 200


def carry_over(old: LessonLog, new: LessonLog, store: Store, adapter: NDArray[np.float32] | None) -> None:
    """Write the lessons into the log of the new encoder, whose store has all memories.

    `adapter` is what was learnt from them anew and is published with them, of shape (dimension, dimension); without
    one the pool begins untrained. A trainer makes all steps again before its next one.
    """
    lessons = [*old.lessons(), *old.held_out()]
    vectors = _vectors(store, {one for lesson in lessons for one in lesson.memories})
    carried = []
    for lesson in lessons:
        left = remaining(lesson, vectors.keys())
        if left:
            rows = np.stack([vectors[one] for one in left.memories])
            carried.append(left.model_copy(update={"vectors": packed(rows)}))
    new.begin_with(carried, old.head().counted, adapter)


def _vectors(store: Store, ids: Collection[UUID]) -> dict[UUID, NDArray[np.float32]]:
    wanted = list(ids)
    batches = (wanted[start : start + BATCH] for start in range(0, len(wanted), BATCH))
    return {one: vector for batch in batches for one, vector in store.dense_of(batch).items()}
