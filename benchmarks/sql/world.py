"""What one order of a set of questions gives the experiments: memories, a stream of questions, and unseen ones."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from benchmarks.support.replies import Pair
from memshare.demo.student_server import Grader, Student
from memshare.demo.text_to_sql import Questions, SqlQuestion

MEMORIES, STREAM, UNSEEN = 400, 500, 300
CHOSEN = 2  # seed of which questions of a large set take part; the orders are orders of these
SPOILED = 0.25
PEOPLE = ("ann", "ben", "cem", "dee")  # the last one is who spoils
TESTER = "tester"
AGENT = "sql"  # and its pool
SHARERS = 4


def pairs_of(questions: Sequence[SqlQuestion]) -> list[Pair]:
    """Questions with their right answers."""
    return [(one.text, one.sql) for one in questions]


@dataclass(frozen=True)
class World:
    """Training questions in an order of their own, and the unseen ones."""

    trained: tuple[SqlQuestion, ...]
    unseen: tuple[SqlQuestion, ...]
    grader: Grader
    student: Student
    order: int

    @cached_property
    def memories(self) -> tuple[SqlQuestion, ...]:
        """Four ninths of the training questions."""
        return self.trained[: len(self.trained) * MEMORIES // (MEMORIES + STREAM)]

    @cached_property
    def stream(self) -> tuple[SqlQuestion, ...]:
        return self.trained[len(self.memories) :]

    def people(self, count: int) -> list[str]:
        """Who brings in so many memories."""
        return random.Random(self.order).choices(PEOPLE, k=count)

    def spoiled(self) -> tuple[list[Pair], list[str], list[bool]]:
        """The memories, of which a quarter has another query's answer; who brought each in; and which are spoiled.

        All that are spoiled are of one submitter, and all others of the rest.
        """
        chance = random.Random(self.order)
        count = len(self.memories)
        bad = set(chance.sample(range(count), int(count * SPOILED)))
        pairs = [
            (one.text, self._another(one, chance).sql if place in bad else one.sql)
            for place, one in enumerate(self.memories)
        ]
        people = [PEOPLE[-1] if place in bad else chance.choice(PEOPLE[:-1]) for place in range(count)]
        return pairs, people, [place in bad for place in range(count)]

    def right(self, questions: Sequence[SqlQuestion], answers: Sequence[str]) -> list[bool]:
        """Whether each answer is right."""
        return [self.grader.right(one, answer) for one, answer in zip(questions, answers, strict=True)]

    def possible(self, memories: Sequence[SqlQuestion]) -> float:
        """The share of unseen questions that a copy of some memory answers."""
        return sum(
            any(self.grader.right(task, self.student.copy(task, one, one.sql)) for one in memories)
            for task in self.unseen
        ) / len(self.unseen)

    def _another(self, question: SqlQuestion, chance: random.Random) -> SqlQuestion:
        """A question to which another query is the answer."""
        others = [one for one in self.memories if one.query.number != question.query.number]
        return chance.choice(others)


def world(questions: Questions, order: int) -> World:
    """The questions in one order. Those of `dev` take no part."""
    chance = random.Random(CHOSEN)
    trained, unseen = questions.of("train"), questions.of("test")
    chance.shuffle(trained)
    chance.shuffle(unseen)
    trained = trained[: MEMORIES + STREAM]
    random.Random(order).shuffle(trained)
    return World(tuple(trained), tuple(unseen[:UNSEEN]), Grader(questions), Student(trained), order)
