"""What some memories had a part in."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from memshare_broker.wire.lessons import Evidence
from memshare_trainer.lessons.lesson_log import LessonLog


def lessons_with(log: LessonLog, memories: Collection[UUID], submitter: str | None = None) -> list[int]:
    """The numbers of the kept lessons of these memories, and of those that had one as a candidate; ascending.

    With a `submitter` also those of any memory that is or was theirs.
    """
    gone = set(memories)
    kept = (*log.all_lessons(), *log.set_aside())
    return sorted(
        one.number for one in kept if submitter in (one.by, *one.submitters) or gone & {one.memory_id, *one.labels}
    )


def words_with(log: LessonLog, memories: Collection[UUID], submitter: str | None = None) -> int:
    """How many words of evidence, learnt from or waiting, these memories or this submitter have a part in."""
    return sum(has_part(one, memories, submitter) for one in log.said())


def has_part(evidence: Evidence, memories: Collection[UUID], submitter: str | None = None) -> bool:
    """Whether evidence is about one of these memories, or its task's answer is one; or this submitter has a part."""
    shown = (evidence.memory, *evidence.beside)
    named = {evidence.pair, *(one.id for one in shown)}
    return submitter in (evidence.by, *(one.submitter for one in shown)) or bool(named & set(memories))
