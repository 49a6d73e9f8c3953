"""The lessons and evidence of one retriever in this process: what steps replay, and what versions are compared on."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping
from typing import NamedTuple, TypeVar
from zlib import crc32

from memshare_broker.wire.lessons import Evidence
from memshare_memory.admit.crediting import LEAST_WEIGHT
from memshare_trainer.lesson import Example, StoredLesson, example_of
from memshare_trainer.lesson_log import EVIDENCE_KEPT, HELD_OUT_EVERY, is_held_out
from memshare_trainer.proof import Vouching, Words

REPLAYED = 31  # earlier lessons in each step …
EVIDENCE_REPLAYED = 64  # … and earlier words of evidence
MOST_COMPARED = 60  # held-out lessons, and as many outcomes: the newest
MOST_EVIDENCE = EVIDENCE_KEPT + EVIDENCE_KEPT // 10  # in memory, before it is read anew what the log has kept

Key = TypeVar("Key", int, str)


class NumberedExample(NamedTuple):
    """An example that is held in memory, with the number of its lesson, or a place in time."""

    number: float
    example: Example


class Drawn(NamedTuple):
    """The replay of a step: lessons, and the keys of evidence, whose words may change before the step is made."""

    lessons: list[Example]
    evidence: list[str]


class ReplayBuffer:
    """Lessons by their slot, evidence by its key, each apart from what is held out; and who said what of them."""

    def __init__(self) -> None:
        self.words = Words()
        self._lessons: dict[int, NumberedExample] = {}
        self._held_out: dict[int, NumberedExample] = {}
        self._evidence: dict[str, NumberedExample] = {}
        self._held_out_evidence: dict[str, NumberedExample] = {}
        self._said: dict[str, Vouching] = {}

    @property
    def said(self) -> Collection[Vouching]:
        """All words of evidence, for who is proven by them."""
        return self._said.values()

    def add(self, lesson: StoredLesson, slot: int | None) -> None:
        """Keep a lesson that has a slot, in the place of what had it before."""
        if slot is not None:
            target = self._held_out if is_held_out(lesson.number) else self._lessons
            self._put(target, slot, NumberedExample(lesson.number, lesson.example()))

    def add_evidence(self, evidence: Evidence) -> None:
        """Keep a person's word about a memory, in the place of their word before."""
        self._said[evidence.key] = Vouching.of(evidence)
        target = self._held_out_evidence if is_held_out_evidence(evidence) else self._evidence
        if evidence.weight >= LEAST_WEIGHT or evidence.key in target:
            self._put(target, evidence.key, NumberedExample(evidence.at, example_of(evidence)))

    def _put(self, target: dict[Key, NumberedExample], key: Key, numbered: NumberedExample) -> None:
        if key in target:
            self.words.remove(target[key].example)
        target[key] = numbered
        self.words.add(numbered.example)

    def has_evidence(self, key: str) -> bool:
        """True if that person has said something of that memory before."""
        return key in self._said

    @property
    def words_held(self) -> int:
        return len(self._said)

    @property
    def is_full(self) -> bool:
        """True if evidence exceeds its limit and is to be read anew from the log, which drops some."""
        return self.words_held > MOST_EVIDENCE

    def counts(self, evidence: Example) -> bool:
        """True if it says something of another's memory, or there are no others."""
        return self.words.share(evidence.by, evidence.ids[0], evidence.submitters[0]) > 0

    def draw(self, seed: str) -> Drawn:
        """The examples to replay in a step; the same at every trainer that draws with the same seed."""
        drawn = random.Random(seed)
        lessons = drawn.sample(sorted(self._lessons), min(REPLAYED, len(self._lessons)))
        evidence = drawn.sample(sorted(self._evidence), min(EVIDENCE_REPLAYED, len(self._evidence)))
        return Drawn([self._lessons[key].example for key in lessons], evidence)

    def replayed(self, drawn: Drawn) -> list[Example]:
        """The examples that were drawn; of evidence those that count."""
        return [*drawn.lessons, *filter(self.counts, (self._evidence[key].example for key in drawn.evidence))]

    def held_out(self) -> list[Example]:
        """The newest held-out lessons, the oldest of them first."""
        return _newest(self._held_out)

    def held_out_evidence(self) -> list[Example]:
        """The newest held-out evidence that counts, the oldest first."""
        return [*filter(self.counts, _newest(self._held_out_evidence))]


def is_held_out_evidence(evidence: Evidence) -> bool:
    """True for one word in ten, which is never trained on, also when it is said again."""
    return crc32(evidence.key.encode()) % HELD_OUT_EVERY == 0


def _newest(examples: Mapping[Key, NumberedExample]) -> list[Example]:
    ordered = sorted(examples.values(), key=lambda numbered: numbered.number)
    return [numbered.example for numbered in ordered[-MOST_COMPARED:]]
