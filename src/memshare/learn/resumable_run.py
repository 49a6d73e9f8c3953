"""Runs journeys whose outcomes are recorded: opens what is not known yet, and waits for all to end."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence

from memshare.client.client import Client
from memshare.terminal.console import errors
from memshare_broker.app import MEMORY_QUEUE, SCORER_QUEUE
from memshare_broker.connection import reaching
from memshare_broker.delivery.entry import Entry
from memshare_broker.delivery.hops import SCORE
from memshare_broker.delivery.outcome_record import OutcomeRecord
from memshare_broker.errors import QueueFull
from memshare_broker.wire.messages import derived_id

LOOK_EVERY = 0.2  # seconds
QUIET = 5.0  # seconds in which nothing ended, after which it is said what it waits for


def run_to_the_end(
    client: Client, entries: Sequence[Entry], progress: Callable[[int], None] = lambda _: None
) -> dict[str, OutcomeRecord]:
    """What became of these journeys, by id, once all have ended; `progress` is told how many have.

    What was opened before is waited for and not opened again. A full queue is waited for, too. Raises `Unreachable`.
    """
    known = client.outcomes([entry.journey for entry in entries])
    to_open = deque(entry for entry in entries if entry.journey not in known)
    waiting = {entry.journey for entry in entries if not (entry.journey in known and known[entry.journey].ended)}
    hints, quiet_since = Hints(client, {entry.queue for entry in entries}), time.monotonic()
    while True:
        progress(len(known.keys() - waiting))
        if not waiting:
            return known
        try:
            while to_open:
                client.send(to_open[0], keep=True)
                to_open.popleft()
        except QueueFull as full:
            hints.say(str(full))
        ended = {name: one for name, one in client.outcomes(sorted(waiting)).items() if one.ended}
        if ended:
            known, waiting, quiet_since = known | ended, waiting - ended.keys(), time.monotonic()
            continue
        if time.monotonic() - quiet_since > QUIET:
            hints.look(waiting)
            quiet_since = time.monotonic()
        time.sleep(LOOK_EVERY)


class Hints:
    """Says what is waited for, each thing once."""

    def __init__(self, client: Client, queues: set[str]) -> None:
        self._client = client
        self._queues = sorted(queues | {SCORER_QUEUE, MEMORY_QUEUE})
        self._said: set[str] = set()

    def look(self, waiting: set[str]) -> None:
        served = {queue for worker in self._client.workers() for queue in worker.queues}
        missing = [queue for queue in self._queues if queue not in served]
        if missing:
            names = " ".join(missing)
            self.say(f"No worker serves {', '.join(missing)} yet. Start `memshare up`, or `memshare worker {names}`.")
        with reaching(self._client.settings.redis):
            parked = self._client.ledger.parked.all()
        ids = waiting | {str(derived_id(one, SCORE.name)) for one in waiting} if parked else set()
        for why in sorted({one.why for one in parked if one.id in ids}):
            self.say(f"Waits: {why}")

    def say(self, line: str) -> None:
        if line not in self._said:
            self._said.add(line)
            errors.print(line, style="yellow")
