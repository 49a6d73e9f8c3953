"""The learning of one retriever as this process holds it: caught up with the log before each lesson."""

from __future__ import annotations

import base64
import math
import random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memshare.retriever_trainer.accuracy import Example, pairwise_accuracy
from memshare.retriever_trainer.adapter_state import State
from memshare.retriever_trainer.kept_lesson import KeptLesson
from memshare.retriever_trainer.learning import step
from memshare.retriever_trainer.lesson_log import Head, LessonLog
from memshare.retriever_trainer.reservoir import is_held_out

STEPS = 2  # on each new lesson: labels are dear, and steps are cheap
REPLAYED = 31  # earlier lessons in each step
FEWEST_HELD_OUT = 3  # lessons; with fewer nothing can be said of a version
OLDER = 2 / 3  # of the held-out lessons, on which alone a version must not get worse either
CHECKPOINT_EVERY = 10  # lessons; what comes after the checkpoint is learnt again from the log


class OutcomeRecord(NamedTuple):
    """A lesson that is held in memory, with its number."""

    number: int
    example: Example


class Comparison(NamedTuple):
    """Pairwise accuracy of the version in use, and of what would replace it."""

    before: float
    after: float

    @property
    def worse(self) -> bool:
        return self.after < self.before


class Learner:
    """Holds the state, the lessons and the weights of the version in use; learns under the log's lease."""

    def __init__(self, log: LessonLog, dimension: int) -> None:
        self._log = log
        self._dimension = dimension
        self._forget()

    def _forget(self) -> None:
        self._head = Head(epoch=-1, counted=0, issued=0, version=0, checkpoint_at=0)
        self._state = State.start(self._dimension)
        self._lessons: dict[int, OutcomeRecord] = {}
        self._held_out: dict[int, OutcomeRecord] = {}
        self.in_use = self._state.weights

    def catch_up(self) -> Head:
        """Take in what other trainers, a rollback or an earlier life of this one have written."""
        head = self._log.head()
        if (head.epoch, head.counted) != (self._head.epoch, self._head.counted):
            if head.epoch != self._head.epoch or head.counted < self._head.counted:
                self._start_over(head)
            for lesson in self._log.numbered(range(self._head.counted + 1, head.counted + 1)):
                self.take_in(lesson)
        if head.version != self._head.version:
            published = self._log.published(head.version)
            self.in_use = published.unpack() if published else State.start(self._dimension).weights
        self._head = head
        return head

    def _start_over(self, head: Head) -> None:
        self._forget()
        checkpoint = self._log.checkpoint()
        if checkpoint:
            self._state = State.unpack(base64.b64decode(checkpoint))
        for lessons, target in ((self._log.lessons(), self._lessons), (self._log.held_out(), self._held_out)):
            for lesson in lessons:
                if lesson.number <= head.checkpoint_at:
                    self._keep(lesson, target)
        self._head = head._replace(counted=head.checkpoint_at, version=0)

    def take_in(self, lesson: KeptLesson) -> None:
        """Hold a lesson out, or make steps on it and on some earlier ones, the same at every trainer."""
        if is_held_out(lesson.number):
            self._keep(lesson, self._held_out)
            return
        drawn = random.Random(f"{self._log.pool} {lesson.number}")
        for _ in range(STEPS):
            replayed = drawn.sample(sorted(self._lessons), min(REPLAYED, len(self._lessons)))
            self._state = step(self._state, [lesson.example(), *(self._lessons[slot].example for slot in replayed)])
        self._keep(lesson, self._lessons)

    def _keep(self, lesson: KeptLesson, target: dict[int, OutcomeRecord]) -> None:
        slot = self._log.slot(lesson.number)
        if slot is not None:
            target[slot] = OutcomeRecord(lesson.number, lesson.example())

    def written(self, counted: int, version: int | None, *, checkpointed: bool) -> None:
        """Note what this trainer has itself written to the log."""
        at = counted if checkpointed else self._head.checkpoint_at
        self._head = self._head._replace(counted=counted, checkpoint_at=at)
        if version is not None:
            self._head = self._head._replace(version=version, issued=version)
            self.in_use = self.weights

    def lost(self) -> None:
        """Forget a step that another trainer's lease has undone."""
        self._forget()

    @property
    def weights(self) -> NDArray[np.float32]:
        """What would be published, in the precision in which it would be."""
        return self._state.weights.astype(np.float16).astype(np.float32)

    def compare(self) -> list[Comparison]:
        """The version in use, and what would replace it, on all held-out lessons and on the older two thirds.

        The older ones are looked at by themselves because labels that are wrong for a while, or made so, are wrong
        in what is held out then, too. Empty while there are too few.
        """
        held_out = [kept.example for kept in sorted(self._held_out.values(), key=lambda kept: kept.number)]
        if len(held_out) < FEWEST_HELD_OUT:
            return []
        older = held_out[: math.ceil(OLDER * len(held_out))]
        return [
            Comparison(pairwise_accuracy(self.in_use, some) or 0.0, pairwise_accuracy(self.weights, some) or 0.0)
            for some in (held_out, older)
        ]

    def checkpoint(self, counted: int) -> str | None:
        """The state as text, when it is time to store it."""
        due = counted - self._head.checkpoint_at >= CHECKPOINT_EVERY
        return base64.b64encode(self._state.pack()).decode() if due else None
