"""Hands new questions to the agent of a pool, as tasks like any other, and waits for what becomes of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import typer

from memshare.broker.errors import BadInput
from memshare.broker.wire.messages import derived_id
from memshare.client import Client
from memshare.console import errors
from memshare.journey import Journey


def agent_of(client: Client, pool: str, named: str | None) -> str:
    """The agent that answers for a pool; raises `BadInput` where it has none, or several and none is named."""
    of_pool = sorted(name for name, card in client.agents().items() if card.pool == pool)
    if named is not None and named not in of_pool:
        raise BadInput(
            f"Agent {named!r} does not keep its memories in pool {pool!r}. Agents that do: {_list(of_pool)}."
        )
    if named is None and len(of_pool) != 1:
        raise BadInput(f"Say with --agent which agent of pool {pool!r} answers. There are: {_list(of_pool)}.")
    return named or of_pool[0]


def submit_question(client: Client, agent: str, question: str, kind: str | None, submitter: str, pool: str) -> str:
    """Submit a question; the same one again is the same task. Returns its id."""
    task_id = str(derived_id("concepts ask", pool, agent, kind or "", submitter, question))
    body = {"prompt": question, "submitter": submitter} | ({"kind": kind} if kind else {})
    return client.submit_task(agent, body, task_id=task_id).id


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


@contextmanager
def stopping(said: str) -> Iterator[None]:
    """Say how to go on where the person stops the block with Ctrl-C or at the end of the input."""
    try:
        yield
    except (typer.Abort, KeyboardInterrupt) as stop:
        errors.print(f"\nStopped. {said}", soft_wrap=True)
        raise typer.Exit(130) from stop


def _list(names: Sequence[str]) -> str:
    return ", ".join(names) or "none; `memshare agents` lists them all"
