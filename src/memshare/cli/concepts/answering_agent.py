"""Hands new questions to the agent of a pool, as tasks like any other, and waits for what becomes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from memshare.client.client import INTERACTIVE, Client
from memshare.client.journey import Journey
from memshare.client.pools import require_agent_model
from memshare.terminal.console import errors
from memshare_broker.errors import BadInput
from memshare_broker.wire.messages import derived_id


class AnsweringAgent(NamedTuple):
    """Which agent answers for a pool, with which kind of task, and who asks and pays."""

    pool: str
    name: str
    kind: str | None
    submitter: str

    @classmethod
    def of(cls, client: Client, pool: str, named: str | None, kind: str | None, submitter: str) -> AnsweringAgent:
        """Raises `BadInput` where a pool has no agent, or several and none is named, or the agent has no model."""
        there = sorted(name for name, card in client.agents().items() if card.pool == pool)
        able = ", ".join(there) or "none"
        if named is not None and named not in there:
            raise BadInput(f"Agent {named!r} does not keep its memories in pool {pool!r}. Agents that do: {able}.")
        if not there:
            raise BadInput(
                f"No agent keeps its memories in pool {pool!r}, so none can answer: give an agent that pool in its"
                " file. `memshare agents` lists the agents with their pools."
            )
        if named is None and len(there) != 1:
            raise BadInput(f"Say with --agent which agent of pool {pool!r} answers. There are: {able}.")
        name = named or there[0]
        require_agent_model(client, [name], f"Agent {name!r}")
        return cls(pool, name, kind, submitter)

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
