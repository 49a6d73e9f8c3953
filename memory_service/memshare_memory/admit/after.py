"""What follows a memory that is admitted to its pool: a tuple of functions, each of which gives messages.

Among them are those that have the sub-questions of its task graded, where they were answered, as pairs of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple
from uuid import UUID

import numpy as np
import redis
from numpy.typing import NDArray

from memshare_broker.delivery.hops import LEARN, SCORE, NextMessage
from memshare_broker.wire.messages import AnsweredTask, Shown, derived_id
from memshare_memory.admit.asked_concepts import extraction
from memshare_memory.admit.comparisons import comparison, rivals_of
from memshare_memory.admit.lessons import Lessons
from memshare_memory.memory import Memory, memory_id, saying
from memshare_memory.recall.recall import Recall


def gradings(task: AnsweredTask, memory: Memory) -> list[NextMessage]:
    """The messages that have a task's sub-questions graded, each in a journey of its own.

    Their parents are what they were answered from, and `memory`, which the task's own answer became.
    """
    whole = Shown(id=memory.id, similarity=0.0, share=0.0, said=saying(memory.answer))
    messages: dict[str, NextMessage] = {}
    for part in task.parts:
        journey = str(derived_id(task.journey, "part", str(memory_id(task.pool, part.question, part.answer))))
        pair = AnsweredTask(
            journey=journey,
            agent=task.agent,
            kind=task.kind,
            pool=task.pool,
            rubric=task.rubric,
            prompt=part.question,
            answer=part.answer,
            model=task.model,
            submitter=task.submitter,
            shown=(whole, *(one for one in part.shown if one.id != memory.id)),
            part_of=task.journey,
        )
        messages[journey] = SCORE.next(pair, journey)
    return list(messages.values())


def parts_among(messages: Iterable[NextMessage]) -> dict[UUID, UUID]:
    """The journeys of the sub-questions among messages, by the memories that these may become."""
    pairs = [one.body for one in messages if isinstance(one.body, AnsweredTask)]
    return {memory_id(pair.pool, pair.prompt, pair.answer): UUID(pair.journey) for pair in pairs}


class Admitted(NamedTuple):
    """A memory as it is about to be stored, its vector, the pool and the task that it comes from."""

    memory: Memory
    vector: NDArray[np.float32]
    recall: Recall
    task: AnsweredTask

    @property
    def stale(self) -> bool:
        """Whether its answer rests on what has changed since: then it teaches nothing."""
        return self.memory.status == "stale"


After = Callable[[Admitted], Iterable[NextMessage]]


def after_admission(client: redis.Redis, lessons: Lessons, *, concepts: bool) -> tuple[After, ...]:
    """What follows, in this order. The concepts of a memory are asked for where `concepts` says so."""

    def judged(new: Admitted) -> Iterable[NextMessage]:
        """A lesson, and a comparison: as one question to the model where all that it asks about is in the lesson."""
        if new.stale:
            return
        lesson = lessons.of(new.task.journey, new.recall, new.memory, new.vector)
        others = rivals_of(new.recall.store, client, new.memory, new.vector)
        rivals = tuple(one.id for one in others)
        if lesson is not None and {*rivals} <= {one.id for one in lesson.candidates}:
            lesson, others = lesson.model_copy(update={"rivals": rivals}), []
        if lesson is not None:
            yield LEARN.next(lesson)
        if others:
            yield comparison(new.task.journey, new.memory, others)

    def named(new: Admitted) -> Iterable[NextMessage]:
        return (extraction(new.memory, new.task.journey),)

    def parts(new: Admitted) -> Iterable[NextMessage]:
        return () if new.stale else gradings(new.task, new.memory)

    return (judged, *((named,) if concepts else ()), parts)
