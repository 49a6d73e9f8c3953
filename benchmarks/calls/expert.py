"""The model of `benchmarks.calls`: `python -m benchmarks.calls.expert`. It knows a good answer to each task.

An example misleads where its form is another; all weekends have the same form.
"""

from __future__ import annotations

from benchmarks.calls.facts import WithPeers
from benchmarks.calls.tasks import facts, similar, unlike
from benchmarks.forms.tasks import form_of
from benchmarks.support.replies import Pair
from benchmarks.support.server import serve_replies

MISLEADS, HELPS = 95, 5  # percent


class CallsExpert:
    """Answers each task well, whatever it is shown."""

    def __init__(self) -> None:
        self._answers = dict([*similar(), *unlike()])
        self._weekends = {prompt for prompt, _ in similar()}

    def answer(self, prompt: str, shown: list[Pair]) -> str:  # noqa: ARG002
        return self._answers[prompt]

    def points(self, pair: Pair) -> int:  # noqa: ARG002
        return 90

    def misleads(self, prompt: str, example: Pair) -> int:
        return HELPS if self._form(prompt) == self._form(example[0]) else MISLEADS

    def _form(self, prompt: str) -> str:
        return "weekend" if prompt in self._weekends else form_of(prompt)


if __name__ == "__main__":
    serve_replies(WithPeers(CallsExpert(), facts()))
