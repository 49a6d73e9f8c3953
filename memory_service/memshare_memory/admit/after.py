"""What follows a memory that is admitted to its pool: a tuple of functions, each of which gives messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import redis
from numpy.typing import NDArray

from memshare_broker.delivery.hops import LEARN, NextMessage
from memshare_broker.wire.messages import AnsweredTask
from memshare_memory.admit.asked_concepts import extraction
from memshare_memory.admit.comparisons import comparison, rivals_of
from memshare_memory.admit.lessons import Lessons
from memshare_memory.admit.parts import gradings
from memshare_memory.memory import Memory
from memshare_memory.recall.recall import Recall


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
