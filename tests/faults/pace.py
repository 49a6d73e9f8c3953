"""Tasks at a steady pace, and how long each one takes until it is answered."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from celery.exceptions import TimeoutError as CeleryTimeoutError

from memshare.client.client import Client
from memshare_broker.errors import GiveUp
from tests.faults.load import Load

WAITING = 40  # tasks that are waited for at a time; each takes two connections, and a client of Redis has 100
ANSWERED_WITHIN = 300.0  # seconds
EVERY_REMEMBERED = 8


@dataclass(frozen=True)
class Answered:
    """One task: when it was due, in seconds since the start, and the seconds from then until its answer."""

    due: float
    seconds: float


class Pace:
    """Submits `rate` tasks a second, however long those before take; one in eight is to be remembered.

    A task is due at a fixed time and its seconds count from then, so a delay is seen in full where it holds up the
    submitting as well. Those that the model refuses have no seconds.
    """

    def __init__(self, client: Client, load: Load, rate: float) -> None:
        self.answered: list[Answered] = []
        self.started = time.monotonic()
        self._client = client
        self._load = load
        self._rate = rate

    @property
    def now(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep the pace for as long as the block runs, and then wait for the answers that are still to come."""
        over = threading.Event()
        runs: list[Future[None]] = []
        self.started = time.monotonic()
        with ThreadPoolExecutor(WAITING, thread_name_prefix="waiting") as waiting:
            pacer = threading.Thread(target=self._submit, args=(over, waiting, runs), name="pace")
            pacer.start()
            try:
                yield
            finally:
                over.set()
                pacer.join()
        for run in runs:
            run.result()

    def _submit(self, over: threading.Event, waiting: ThreadPoolExecutor, runs: list[Future[None]]) -> None:
        while not over.wait(max(0.0, len(runs) / self._rate - self.now)):
            number = len(runs)
            runs.append(waiting.submit(self._one, number, number / self._rate))

    def _one(self, number: int, due: float) -> None:
        task = self._load.one(remember=number % EVERY_REMEMBERED == 0)
        try:
            self._client.result(task).get(timeout=ANSWERED_WITHIN)
        except (GiveUp, CeleryTimeoutError):  # what has no answer is counted at the end
            return
        self.answered.append(Answered(due, self.now - due))
