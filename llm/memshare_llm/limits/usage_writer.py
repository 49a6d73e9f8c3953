"""Writes to Redis what calls used: many calls with one script, from a thread of its own."""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict, deque
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

import redis
from redis.exceptions import RedisError

from memshare_broker.observe.metrics import METRICS
from memshare_broker.runtime.last_steps import before_the_end
from memshare_broker.steady_thread import steady_thread

log = logging.getLogger(__name__)

SCRIPT = Path(__file__).with_name("add_usage.lua")
KEEP = 2 * 86_400  # seconds; a day is read as long as it lasts
EVERY = 0.1  # seconds between two batches

Amount = tuple[str, str, float]  # key, field, and how much is added


class UsageWriter:
    """Collects amounts and writes their sums ten times a second.

    What cannot be written is kept in memory and tried again, and what waits is written before the process ends.
    """

    def __init__(self, client: redis.Redis) -> None:
        self._script = client.register_script(SCRIPT.read_text("utf-8"))
        self._writer = f"memshare:usage:writer:{uuid4().hex}"
        self._number = 0
        self._waiting: deque[Sequence[Amount]] = deque()
        self._batch: list[str] = []
        self._writing = threading.Lock()
        self._starting = threading.Lock()
        self._due, self._never = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, amounts: Sequence[Amount]) -> None:
        """Count what was used. Never waits for Redis: a call's answer must not."""
        self._waiting.append(amounts)
        self._due.set()
        with self._starting:
            if self._thread is None:
                before_the_end(self._write_the_rest)
            if self._thread is None or not self._thread.is_alive():  # a forked process has no threads
                self._thread = steady_thread("memshare-usage", self._write_batch, self._never)

    def flush(self) -> None:
        """Write what waits; raises `RedisError` where that is not possible, and keeps it."""
        with self._writing:
            while self._waiting or self._batch:
                if not self._batch:
                    self._number += 1
                    self._batch = _summed([self._waiting.popleft() for _ in range(len(self._waiting))])
                self._script(keys=[self._writer, METRICS], args=[self._number, KEEP, *self._batch])
                self._batch = []

    def _write_batch(self) -> None:
        if not self._batch:  # else it could not be written before
            self._due.wait()
            time.sleep(EVERY)
            self._due.clear()
        self.flush()

    def _write_the_rest(self) -> None:
        try:
            self.flush()
        except RedisError as error:
            log.error("What the last calls used is not counted: %s", error)


def _summed(charges: Sequence[Sequence[Amount]]) -> list[str]:
    """The sums of amounts as the script takes them: key, field, amount, in turn."""
    sums: defaultdict[tuple[str, str], float] = defaultdict(float)
    for amounts in charges:
        for key, field, by in amounts:
            sums[key, field] += by
    return [part for (key, field), by in sums.items() for part in (key, field, repr(by))]
