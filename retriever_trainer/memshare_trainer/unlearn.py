"""Unlearning: a retriever becomes what it would be, had it never been taught with some memories, or by somebody."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple
from uuid import UUID

from memshare_trainer.lesson_log import LessonLog
from memshare_trainer.lessons_with import has_part, lessons_with
from memshare_trainer.relearn import relearn
from memshare_trainer.rewriting import begin_with
from memshare_trainer.stored_lesson import example_of


class Unlearnt(NamedTuple):
    """How many lessons and words of evidence were dropped, and the version in use before and after."""

    lessons: int
    evidence: int
    before: int
    version: int


def unlearn(log: LessonLog, memories: Collection[UUID], submitter: str | None = None) -> Unlearnt:
    """Learn the whole log again without these memories' lessons and evidence, and drop every version there was.

    With a `submitter` also without what their answers and feedback said. Other evidence that waits goes on waiting.
    Takes some 10 ms a lesson, while other trainers wait.
    """
    with log.lease():
        head, dropped = log.head(), set(lessons_with(log, memories, submitter))
        lessons = log.all_lessons()
        left = [one for one in lessons if one.number not in dropped]
        said = log.evidence()
        kept = [one for one in said if not has_part(one, memories, submitter)]
        taught = [*(one.example() for one in left[:1]), *(example_of(one) for one in kept[:1])]
        learnt = relearn(left, kept, taught[0].query.size) if taught else None
        begin_with(log, left, kept, head.counted, learnt, publish=bool(left and head.version))
        waited = log.drop_waiting(lambda one: has_part(one, memories, submitter))
        return Unlearnt(len(dropped), len(said) - len(kept) + waited, head.version, log.head().version)
