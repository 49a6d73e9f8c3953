"""Draws the batches of fine-tuning from lessons: questions, what they are to find, and what they are not to find."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from memshare_memory.memory import folded

QUESTIONS = 24  # of one batch


@dataclass(frozen=True)
class TextLesson:
    """A lesson as texts: the candidates for a prompt, and which of them should have been found."""

    query: str
    documents: tuple[str, ...]
    positive: tuple[bool, ...]


class Batch(NamedTuple):
    """Document i is the positive of question i; `other_positives` has a row for each question."""

    questions: list[str]
    documents: list[str]
    other_positives: list[list[bool]]


def batches(lessons: Sequence[TextLesson], count: int, seed: int) -> Iterator[Batch]:
    """Draw so many batches: each time one positive of a lesson, and one negative where it has any.

    All lessons come once before any comes again. Raises `ValueError` where no lesson has a positive.
    """
    drawn, helps = Random(seed), _known_positives(lessons)
    rows = [lesson for lesson in lessons if any(lesson.positive)]
    if not rows:
        raise ValueError("there are no lessons to learn from")
    waiting: list[TextLesson] = []
    for _ in range(count):
        if len(waiting) < min(QUESTIONS, len(rows)):
            waiting += drawn.sample(rows, len(rows))
        batch, waiting = waiting[:QUESTIONS], waiting[QUESTIONS:]
        questions = [lesson.query for lesson in batch]
        positives = [drawn.choice(_documents(lesson, positive=True)) for lesson in batch]
        negatives = [drawn.choice(_documents(lesson, positive=False)) for lesson in batch if not all(lesson.positive)]
        documents = [*positives, *negatives]
        other_positives = [
            [place != own and folded(text) in helps[folded(question)] for place, text in enumerate(documents)]
            for own, question in enumerate(questions)
        ]
        yield Batch(questions, documents, other_positives)


def _documents(lesson: TextLesson, *, positive: bool) -> list[str]:
    return [text for text, helped in zip(lesson.documents, lesson.positive, strict=True) if helped is positive]


def _known_positives(lessons: Sequence[TextLesson]) -> dict[str, set[str]]:
    """What is no negative of a question: itself, what helped it, and what it helped."""
    helps: defaultdict[str, set[str]] = defaultdict(set)
    for lesson in lessons:
        asked = folded(lesson.query)
        helps[asked].add(asked)
        for text in map(folded, _documents(lesson, positive=True)):
            helps[asked].add(text)
            helps[text].add(asked)
    return helps
