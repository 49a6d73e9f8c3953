"""Waits for tasks, for as long as anything of a deployment moves."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from memshare.client.client import LOOK_EVERY, Client
from memshare.client.journey import Journey
from memshare_broker.errors import Unreachable

LOOK_AROUND_EVERY = 5.0  # seconds; whether anything else moves while one journey is waited for


def ended_in_order(
    client: Client, task_ids: Sequence[str], patience: float, tend: Callable[[], object] = lambda: None
) -> Iterator[Journey]:
    """The journeys in order, each once it has been settled or given up; `tend` is called while it waits.

    Raises `Unreachable` where no message of the deployment has moved for `patience` seconds.
    """
    last = looked = time.monotonic()
    open_then: dict[str, int] | None = None
    for task_id in task_ids:
        while not (journey := client.journey(task_id)).ended:
            if time.monotonic() - looked > LOOK_AROUND_EVERY:
                looked, open_now = time.monotonic(), client.ledger.open_messages()
                if open_now != open_then:
                    last, open_then = looked, open_now
            if time.monotonic() - last > patience:
                why = f" It waits: {journey.waits.why}" if journey.waits else " The worker's log says more."
                raise Unreachable(f"Nothing has ended for {patience:.0f} s.{why}")
            tend()
            time.sleep(LOOK_EVERY)
        last = time.monotonic()
        yield journey


def wait_until_idle(client: Client, patience: float, tend: Callable[[], object] = lambda: None) -> None:
    """Return once no message is open; raises `Unreachable` after `patience` seconds."""
    deadline = time.monotonic() + patience
    while any(client.ledger.open_messages().values()):
        if time.monotonic() > deadline:
            raise Unreachable(f"Messages have been open for {patience:.0f} s; the worker's log says more.")
        tend()
        time.sleep(LOOK_EVERY)
