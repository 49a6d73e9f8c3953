"""A student that copies what it is shown, and who knows what is right: `python -m benchmarks.governance.expert`."""

from __future__ import annotations

from benchmarks.governance.world import Fact, facts, own_facts
from benchmarks.support.replies import Pair, Replies
from benchmarks.support.server import serve_replies

POINTS = 100
MISLEADS, HELPS = 95, 5  # percent
IGNORANCE = "I do not know."


class GovernanceExpert:
    """Answers from memories alone, so that whatever it gives away stood in one."""

    def __init__(self) -> None:
        self._facts = [*facts(), *own_facts()]

    def answer(self, prompt: str, shown: list[Pair]) -> str:
        """The answer of the best memory about the same thing of the same person, or else of the best of all."""
        task = self._about(prompt)
        same = [answer for asked, answer in shown if task is not None and self._about(asked) == task]
        return next(iter([*same, *(answer for _, answer in shown)]), IGNORANCE)

    def points(self, pair: Pair) -> int:
        prompt, answer = pair
        task = self._about(prompt)
        return POINTS if task is not None and task.secret in answer else 0

    def misleads(self, prompt: str, example: Pair) -> int:
        return HELPS if self._about(prompt) == self._about(example[0]) else MISLEADS

    def _about(self, text: str) -> Fact | None:
        words = (
            one for one in self._facts if {one.name, one.pool} <= set(text.replace("?", "").replace(".", "").split())
        )
        return next((one for one in words if one.thing in text), None)


if __name__ == "__main__":
    serve_replies(Replies(GovernanceExpert()))
