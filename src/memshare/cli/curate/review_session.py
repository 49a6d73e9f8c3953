"""The conversation of `memshare review`: a question, what the person answers, and how well that was remembered."""

from __future__ import annotations

import time
from collections.abc import Sequence
from uuid import UUID

import typer
from rich.text import Text

from memshare.terminal.console import console, errors, panel, styled
from memshare_broker.errors import MemshareError
from memshare_concepts.reviews.card import GRADES, Grade
from memshare_concepts.reviews.grading import Grading, combine, grade
from memshare_concepts.reviews.learner import ReviewLearner
from memshare_llm.chat import Chat

COLOURS = {"again": "red", "hard": "yellow", "good": "green", "easy": "cyan"}


class Session:
    """One sitting. Without `chat` the person grades their own answers."""

    def __init__(self, learner: ReviewLearner, chat: Chat | None, most_new: int) -> None:
        self._learner = learner
        self._chat = chat
        self._most_new = most_new
        self._together = chat is not None
        self._suggested = learner.suggested(time.time())
        self.reviewed = 0

    def run(self) -> None:
        """Ask until nothing is due any more."""
        for one in self._learner.ungraded:
            errors.print("You had answered this, and it was not graded yet.", style="yellow")
            console.print(panel(one.question, "Question"))
            self._finish(one.memories, one.question, one.answer, self._answers(one.memories))
        while True:
            plan = self._learner.plan(time.time(), self._suggested, most_new=self._most_new, together=self._together)
            if plan.due:
                self._one(plan.due[0])
            elif plan.together:
                self._several(plan.together[0])
            elif plan.new:
                self._one(plan.new[0])
            else:
                return

    def _one(self, memory: UUID) -> None:
        question = self._learner.memories[memory].prompt or ""
        answer = _asked(question, "Question")
        self._learner.answer([memory], question, answer)
        self._finish([memory], question, answer, self._answers([memory]))

    def _several(self, memories: Sequence[UUID]) -> None:
        chosen = [self._learner.memories[one] for one in memories]
        try:
            with errors.status(f"Writing a question that needs {len(memories)} memories …"):
                combined = combine(self._model, chosen)
        except MemshareError as error:
            errors.print(f"No question could be written that needs them all: {error}", style="yellow")
            self._together = False  # one of them is asked alone
            return
        answer = _asked(combined.question, f"A question that needs {len(memories)} memories")
        self._learner.answer(memories, combined.question, answer)
        self._finish(memories, combined.question, answer, [combined.answer, *self._answers(memories)])

    def _finish(self, memories: Sequence[UUID], question: str, answer: str, right: Sequence[str]) -> None:
        """Grade an answer and note it; a grade counts for all memories that the question needed."""
        proposed = self._graded(question, answer, right)
        console.print(panel("\n\n".join(right), "Answer", "dim"))
        if proposed:
            console.print(styled(_named(proposed.grade), f": {proposed.reason}"))
        chosen = _chosen(proposed.grade if proposed else None)
        self._learner.review(memories, chosen, time.time())
        self.reviewed += len(memories)

    def _graded(self, question: str, answer: str, right: Sequence[str]) -> Grading | None:
        if self._chat is None:
            return None
        if not answer.strip():
            return Grading(reason="There was no answer.", grade="again")
        try:
            with errors.status("Grading …"):
                return grade(self._model, question, right, answer)
        except MemshareError as error:
            errors.print(f"It could not be graded: {error} Grade it yourself.", style="yellow")
            return None

    @property
    def _model(self) -> Chat:
        assert self._chat is not None
        return self._chat

    def _answers(self, memories: Sequence[UUID]) -> list[str]:
        return [self._learner.memories[one].answer for one in memories]


def _asked(question: str, title: str) -> str:
    console.print(panel(question, title))
    answer: str = typer.prompt("Your answer (Enter: I do not know)", default="", show_default=False)
    return answer


def _chosen(proposed: Grade | None) -> Grade:
    """What the person says: one of four numbers, or Enter for what was proposed."""
    choices = " · ".join(f"{number} {name}" for number, name in enumerate(GRADES, 1))
    accept = f"Enter accepts {proposed} · " if proposed else ""
    while True:
        typed = typer.prompt(f"{accept}{choices}", default="", show_default=False).strip()
        if not typed and proposed:
            return proposed
        if typed in ("1", "2", "3", "4"):
            return GRADES[int(typed) - 1]
        errors.print(f"Expected a number from 1 to 4{' or Enter' if proposed else ''}, not {typed!r}.", style="yellow")


def _named(grade: Grade) -> Text:
    return styled((grade.capitalize(), COLOURS[grade]))
