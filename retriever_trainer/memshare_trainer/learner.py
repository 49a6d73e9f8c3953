"""The learning of one retriever as this process holds it: caught up with the log before each message."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar
from zlib import crc32

import numpy as np

from memshare_broker.wire.lessons import Evidence, Lesson
from memshare_memory.recall.adapter import Adapter
from memshare_trainer.adapter_state import State
from memshare_trainer.change import Head
from memshare_trainer.example import Example, gains_of, scores
from memshare_trainer.learning import step
from memshare_trainer.learnt import Learnt
from memshare_trainer.lesson_log import EVIDENCE_KEPT, LessonLog
from memshare_trainer.ranking_quality import Comparison, compare
from memshare_trainer.reservoir import HELD_OUT_EVERY, is_held_out
from memshare_trainer.stored_lesson import StoredLesson, example_of
from memshare_trainer.words import Words

REPLAYED = 31  # earlier lessons in each step …
EVIDENCE_REPLAYED = 64  # … and earlier words of evidence
FEWEST_HELD_OUT, FEWEST_OUTCOMES = 3, 10  # lessons or outcomes; with fewer of both nothing can be said of a version
MOST_COMPARED = 60  # held-out lessons, and as many outcomes: the newest
MOST_EVIDENCE = EVIDENCE_KEPT + EVIDENCE_KEPT // 10  # in memory, before it is read anew what the log has kept
OLDER = 2 / 3  # of the held-out lessons, on which alone a version must not get worse either
CHECKPOINT_EVERY = 10  # messages; the steps that come after the checkpoint are made again from the log

Key = TypeVar("Key", int, str)


class NumberedExample(NamedTuple):
    """An example that is held in memory, with the number of its lesson, or a place in time."""

    number: float
    example: Example


class Learner:
    """Holds the state, the examples and the version in use; learns under the log's lease."""

    def __init__(self, log: LessonLog, dimension: int) -> None:
        self._log = log
        self.dimension = dimension
        self.forget()

    def forget(self) -> None:
        """Begin anew with the next message, as after a step that was not written."""
        self._head = Head(epoch=-1, counted=0, issued=0, version=0, checkpoint_at=0, updates=0)
        self._state = State.start(self.dimension)
        self._words = Words()
        self._lessons: dict[int, NumberedExample] = {}
        self._held_out: dict[int, NumberedExample] = {}
        self._evidence: dict[str, NumberedExample] = {}
        self._held_out_evidence: dict[str, NumberedExample] = {}
        self.in_use = self._best = Adapter()

    def catch_up(self) -> Head:
        """Take in what other trainers, a rollback or an earlier life of this one have written."""
        head = self._log.head()
        if (head.epoch, head.updates) != (self._head.epoch, self._head.updates):
            self._start_over(head)
        if head.version != self.in_use.version:
            published = self._log.published(head.version)
            self.in_use = self._best = published.adapter() if published else Adapter()
        self._head = head
        return head

    def _start_over(self, head: Head) -> None:
        self.forget()
        checkpoint = self._log.checkpoint()
        if checkpoint:
            self._state = State.unpack(checkpoint)
        for evidence in self._log.evidence():
            self._keep_evidence(evidence)
        for lesson in self._log.all_lessons():
            if lesson.number <= head.checkpoint_at:
                self._keep(lesson)
            else:
                self.take_in(lesson, [])
        while self._state.steps < head.steps:  # those that were made for evidence
            self._step([], *self._drawn())

    def take_in(self, lesson: StoredLesson | None, evidence: Sequence[Evidence]) -> int:
        """Make a step on what is new and on some of what was before, or hold it out; returns how many words were new.

        Who says again what they said of a memory changes their word, and no step is made for it.
        """
        last = {one.key: one for one in evidence}
        fresh = {field: one for field, one in last.items() if not self._knows(field)}
        earlier = self._drawn()
        for one in last.values():
            self._keep_evidence(one)
        if lesson:
            self._keep(lesson)
        taught = [example_of(one) for one in fresh.values() if not is_held_out_evidence(one)]
        taught = [*filter(self._counts, taught)]
        if lesson and not is_held_out(lesson.number):
            taught.append(lesson.example())
        if taught:
            self._step(taught, *earlier)
        return len(fresh)

    def _knows(self, field: str) -> bool:
        return field in self._evidence or field in self._held_out_evidence

    def _counts(self, evidence: Example) -> bool:
        """Whether it says something of another's memory, or there are no others."""
        return self._words.share(evidence.by, evidence.ids[0], evidence.submitters[0]) > 0

    def _drawn(self) -> tuple[list[Example], list[str]]:
        """Lessons to replay in the next step, and the fields of evidence: the same at every trainer."""
        drawn = random.Random(f"{self._log.pool} {self.steps}")
        lessons = drawn.sample(sorted(self._lessons), min(REPLAYED, len(self._lessons)))
        fields = drawn.sample(sorted(self._evidence), min(EVIDENCE_REPLAYED, len(self._evidence)))
        return [self._lessons[one].example for one in lessons], fields

    def _step(self, taught: Sequence[Example], lessons: Sequence[Example], fields: Sequence[str]) -> None:
        said = filter(self._counts, (self._evidence[one].example for one in fields))
        if examples := [*taught, *lessons, *said]:
            self._state = step(self._state, examples, self._words)
        else:  # there is nothing left of what the step was made on
            self._state = replace(self._state, steps=np.asarray(self._state.steps + 1))

    def _keep(self, lesson: StoredLesson) -> None:
        slot = self._log.slot(lesson.number)
        if slot is not None:
            target = self._held_out if is_held_out(lesson.number) else self._lessons
            self._put(target, slot, NumberedExample(lesson.number, lesson.example()))

    def _keep_evidence(self, evidence: Evidence) -> None:
        target = self._held_out_evidence if is_held_out_evidence(evidence) else self._evidence
        self._put(target, evidence.key, NumberedExample(evidence.at, example_of(evidence)))

    def _put(self, target: dict[Key, NumberedExample], key: Key, one: NumberedExample) -> None:
        if key in target:
            self._words.remove(target[key].example)
        target[key] = one
        self._words.add(one.example)

    def written(self, counted: int, record: Lesson, *, checkpointed: bool) -> None:
        """Note what this trainer has itself written to the log."""
        at = counted if checkpointed else self._head.checkpoint_at
        updates = self._head.updates + 1
        self._head = self._head._replace(counted=counted, checkpoint_at=at, updates=updates, steps=self.steps)
        if record.version is not None:
            self.in_use = self.adapter(record.version)
            self._best = self.in_use if _is_best(record) else self._best
            self._head = self._head._replace(version=record.version, issued=record.version)
        if len(self._evidence) + len(self._held_out_evidence) > MOST_EVIDENCE:
            self.forget()

    def adapter(self, version: int = 0) -> Adapter:
        """What would be published."""
        return self.learnt.adapter(version)

    @property
    def steps(self) -> int:
        """How many steps have led to what it is now."""
        return int(self._state.steps)

    @property
    def learnt(self) -> Learnt:
        """What it has come to."""
        return Learnt.of(self._state, self._words)

    def compare(self) -> list[Comparison]:
        """The best version so far and what is new, on what is held out, and on the older lessons of it alone.

        It is the best and not the last one, as many small losses would else pass one by one. The older two thirds are
        looked at by themselves because labels that are wrong for a while, or made so, are wrong in what is held out
        then, too. Empty while there is too little.
        """
        held_out = _newest(self._held_out, MOST_COMPARED)
        outcomes = [*filter(self._counts, _newest(self._held_out_evidence, MOST_COMPARED))]
        if len(held_out) < FEWEST_HELD_OUT and len(outcomes) < FEWEST_OUTCOMES:
            return []
        examples = [*held_out, *outcomes]
        older = math.ceil(OLDER * len(held_out))
        known = gains_of(examples), scores(self._best, examples), scores(self.adapter(), examples)
        return [compare(*(of[:count] for of in known)) for count in (len(examples), older) if count]

    def checkpoint(self) -> str | None:
        """The state as text, when it is time to store it."""
        due = (self._head.updates + 1) % CHECKPOINT_EVERY == 0
        return self._state.pack() if due else None


def _is_best(published: Lesson) -> bool:
    """Whether what was published is, in sum, as good as the best before it, or better."""
    after = (published.accuracy_after or 0.0) + (published.ndcg_after or 0.0)
    return after >= (published.accuracy_before or 0.0) + (published.ndcg_before or 0.0)


def is_held_out_evidence(evidence: Evidence) -> bool:
    """One word in ten is never trained on, whenever it is said again."""
    return crc32(evidence.key.encode()) % HELD_OUT_EVERY == 0


def _newest(kept: Mapping[Key, NumberedExample], most: int) -> list[Example]:
    ordered = sorted(kept.values(), key=lambda one: one.number)
    return [one.example for one in ordered[-most:]]
