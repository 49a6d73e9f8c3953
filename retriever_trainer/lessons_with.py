"""Which lessons some memories had a part in."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from memshare.retriever_trainer.lesson_log import LessonLog


def lessons_with(log: LessonLog, memories: Collection[UUID]) -> list[int]:
    """The numbers of the kept lessons of these memories, and of those that had one as a candidate; ascending."""
    gone = set(memories)
    kept = (*log.lessons(), *log.held_out())
    return sorted(one.number for one in kept if gone & {one.memory_id, *one.labels})
