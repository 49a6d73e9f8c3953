"""Somebody who knows the form of each task, as the model of a deployment: `python -m benchmarks.forms.expert`.

Every answer is a good one, as it was made for its task. One label in twenty is wrong, always the same ones.
"""

from __future__ import annotations

from benchmarks.forms.tasks import Task, contradiction, form_of
from benchmarks.support.replies import Pair, Replies
from benchmarks.support.server import serve_replies

POINTS = 100
WRONG = 0.05  # share of the labels


class FormExpert:
    """Goes by the form alone."""

    def answer(self, prompt: str, shown: list[Pair]) -> str:  # noqa: ARG002
        """No agent is asked."""
        return "I do not know."

    def points(self, pair: Pair) -> int:  # noqa: ARG002
        return POINTS

    def misleads(self, prompt: str, example: Pair) -> int:
        task, shown = (Task(form_of(text), "", text, "") for text in (prompt, example[0]))
        return round(100 * contradiction(task, shown, WRONG))


if __name__ == "__main__":
    serve_replies(Replies(FormExpert()))
