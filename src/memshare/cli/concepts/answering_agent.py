"""Hands new questions to the agent of a pool, as tasks like any other, and waits for what becomes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from memshare.client.client import INTERACTIVE, Client
from memshare.client.journey import Journey
from memshare.terminal.console import errors
from memshare_broker.wire.messages import derived_id


class AnsweringAgent(NamedTuple):
    """Which agent answers for a pool, with which kind of task, and who asks and pays."""

    pool: str
    name: str
    kind: str | None
    submitter: str

    def submit(self, client: Client, question: str, priority: int = INTERACTIVE) -> str:
        """Submit a question; the same one again is the same task. Returns its id."""
        task_id = derived_id("concepts ask", self.pool, self.name, self.kind or "", self.submitter, question)
        body = {"prompt": question, "submitter": self.submitter} | ({"kind": self.kind} if self.kind else {})
        return client.submit_task(self.name, body, priority, str(task_id)).id


def wait_for_all(client: Client, task_ids: Sequence[str], timeout: float) -> list[Journey]:
    """The journeys of tasks that were submitted, once each has ended."""
    with errors.status(f"The agent answers {len(task_ids)} …") as status:
        found = []
        for done, task_id in enumerate(task_ids):
            status.update(f"{done} of {len(task_ids)} answered, graded and settled …")
            found.append(client.wait(task_id, timeout))
        return found


def outcome_of(journey: Journey) -> tuple[str, str]:
    """The score and what became of a question, in words."""
    score = f"{journey.score.total:.1f}" if journey.score else "–"
    if journey.dead is not None:
        return score, f"given up: {journey.dead.error}"
    if journey.verified is False:
        return score, "not verified, and so not graded"
    return score, journey.outcome or journey.state
