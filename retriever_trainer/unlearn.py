"""Unlearning: a retriever becomes what it would be, had it never been taught with some memories."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple
from uuid import UUID

from memshare.retriever_trainer.learner import Learner
from memshare.retriever_trainer.lesson_log import LessonLog
from memshare.retriever_trainer.lessons_with import lessons_with
from memshare.retriever_trainer.reservoir import is_held_out


class Unlearnt(NamedTuple):
    """How many lessons were dropped, and the version in use before and after."""

    lessons: int
    before: int
    version: int


def unlearn(log: LessonLog, memories: Collection[UUID]) -> Unlearnt:
    """Learn the whole log again without these memories' lessons, and drop every version there was.

    The other lessons are learnt in their order, and published or refused, as if no other had been between them.
    Takes some 10 ms a lesson, while other trainers wait.
    """
    with log.lease():
        head, dropped = log.head(), set(lessons_with(log, memories))
        lessons = sorted((*log.lessons(), *log.held_out()), key=lambda one: one.number)
        left = [one for one in lessons if one.number not in dropped]
        adapter = None
        if left:
            learner = Learner(log, left[0].example().query.size)
            for lesson in left:
                learner.take_in(lesson)
                compared = [] if is_held_out(lesson.number) else learner.compare()
                if compared and not any(one.worse for one in compared):
                    learner.in_use = adapter = learner.weights
        log.begin_with(left, head.counted, adapter)
        return Unlearnt(len(dropped), head.version, log.head().version)
