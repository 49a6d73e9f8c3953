"""The tasks of a run: each with a prompt of its own, most of them in flight before the first one has ended."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from memshare.client.client import Client
from memshare_broker.errors import Unreachable
from tests.faults.model import POOR, REFUSED

SUBMITTERS = 4
EVERY_POOR, EVERY_REFUSED = 9, 49
FIRST = 0  # the priority of a task that goes before the others
TRICKLE = 0.25  # seconds
REFUSED_PAUSE = 0.2  # seconds before a submitter that was turned away tries the next task
KINDS = {"poem": (None, "limerick", "sonnet", "wuyanlvshi"), "logic": (None, "puzzle", "riddle", "pun")}
SUBJECTS = ("a lighthouse", "two clocks", "a lost umbrella", "the night train", "seven hats", "an honest thief", "rain")


class Load:
    """Submits tasks, and knows which of them were accepted; `turned_away` counts those that were not.

    While a fault is on, it submits one every `trickle_every` seconds.
    """

    def __init__(self, client: Client, trickle_every: float = TRICKLE) -> None:
        self.accepted: list[str] = []
        self.turned_away = 0
        self._client = client
        self._trickle_every = trickle_every
        self._number = 0
        self._lock = threading.Lock()

    def burst(self, count: int) -> None:
        """Submit so many tasks as fast as it goes, from several submitters."""
        with ThreadPoolExecutor(SUBMITTERS) as submitters:
            list(submitters.map(lambda _: self.one(), range(count)))

    @contextmanager
    def trickle(self, count: int, *, goes_on: bool = False) -> Iterator[None]:
        """Submit so many tasks one after the other while the block runs, and what is left at its end.

        If it `goes_on`, more follow until the end of the block.
        """
        over = threading.Event()

        def submit() -> None:
            for number in itertools.count():
                if number >= count and (over.is_set() or not goes_on):
                    return
                self.one()
                over.wait(self._trickle_every)

        thread = threading.Thread(target=submit, name="trickle")
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def one(self, priority: int = 3, *, remember: bool = True) -> str:
        """Submit tasks until one is accepted, and return its id."""
        while True:
            with self._lock:
                self._number += 1
                number = self._number
            agent = ("poem", "logic")[number % 2]
            kind = KINDS[agent][number // 2 % 4]
            try:
                task = self._client.submit(
                    agent,
                    _prompt(number),
                    kind=kind,
                    submitter=f"submitter {number % 7}",
                    remember=remember,
                    priority=priority,
                )
            except Unreachable:
                with self._lock:
                    self.turned_away += 1
                time.sleep(REFUSED_PAUSE)
                continue
            with self._lock:
                self.accepted.append(task.id)
            return str(task.id)


def _prompt(number: int) -> str:
    subject = SUBJECTS[number % len(SUBJECTS)]
    extra = REFUSED if number % EVERY_REFUSED == 0 else POOR if number % EVERY_POOR == 0 else "make it good"
    return f"Something about {subject} and the number {number * 7919}: {extra}."
