"""Somebody who answers questions to a database by copying, and knows what is right by running it."""

from __future__ import annotations

from memshare.demo.student import Grader, Student
from memshare.demo.text_to_sql import Questions

Pair = tuple[str, str]
"""A prompt and its answer."""

POINTS = 100
MISLEADS, HELPS = 95, 5  # percent
IGNORANCE = "I do not know."


class SqlExpert:
    """The student answers, and a program knows what is right."""

    def __init__(self, questions: Questions) -> None:
        self._by_text = {one.text: one for split in ("test", "dev", "train") for one in questions.of(split)}
        self._student = Student(self._by_text.values())
        self._grader = Grader(questions)

    def answer(self, prompt: str, shown: list[Pair]) -> str:
        task = self._by_text.get(prompt)
        if task is None:
            return IGNORANCE
        examples = [(self._by_text[asked], answer) for asked, answer in shown if asked in self._by_text]
        return self._student.answer(task, examples) or IGNORANCE

    def points(self, pair: Pair) -> int:
        prompt, answer = pair
        task = self._by_text.get(prompt)
        return POINTS if task is not None and self._grader.right(task, answer) else 0

    def misleads(self, prompt: str, example: Pair) -> int:
        """An example helps where its copy would be right."""
        task, asked = self._by_text.get(prompt), self._by_text.get(example[0])
        if task is None or asked is None:
            return MISLEADS
        copy = self._student.copy(task, asked, self._student.read_cut(example[1]))
        return HELPS if copy is not None and self._grader.right(task, copy) else MISLEADS
