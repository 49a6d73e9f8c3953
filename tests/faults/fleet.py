"""The workers of a run: each is started again when it ends, as Kubernetes or `memshare up` would do."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.faults.forks import Forks
from tests.faults.hosts import Host

PAUSE_AFTER_CRASH = 1.0  # seconds


@dataclass
class Worker:
    """One worker, whichever process it is at the moment."""

    name: str
    queues: tuple[str, ...]
    pid: int = 0
    sent: signal.Signals | None = None
    """The signal by which the run ends this process."""


class Fleet:
    """Worker processes by name. `ended` counts those that the run has ended, `crashes` names all others that ended.

    A worker runs on the host of its name where there is one.
    """

    def __init__(
        self, forks: Forks, environment: Mapping[str, str], logs: Path, hosts: Mapping[str, Host] | None = None
    ) -> None:
        self.ended = 0
        self.crashes: list[str] = []
        self._forks = forks
        self._environment = environment
        self._logs = logs
        self._hosts = hosts or {}
        self._workers: dict[str, Worker] = {}
        self._lock = threading.RLock()
        self._over = False

    @property
    def names(self) -> list[str]:
        return list(self._workers)

    def pid(self, name: str) -> int:
        """The process that a worker is at the moment."""
        with self._lock:
            return self._workers[name].pid

    @property
    def pids(self) -> set[int]:
        with self._lock:
            return {worker.pid for worker in self._workers.values()}

    def add(self, name: str, *queues: str) -> None:
        """Start a worker, of the queue of its name if no queues are given."""
        self._workers[name] = Worker(name, queues or (name,))
        self._start(self._workers[name])

    def end(self, name: str, sign: signal.Signals) -> None:
        """End a worker's process by a signal, unless it is ending already. It is started again."""
        with self._lock:
            worker = self._workers[name]
            if worker.sent is None:
                worker.sent = sign
                self.ended += 1
                os.kill(worker.pid, sign)

    def send(self, name: str, sign: signal.Signals) -> None:
        """Send a worker's process a signal that does not end it."""
        with self._lock:
            os.kill(self._workers[name].pid, sign)

    def stop(self) -> None:
        """End every worker for good."""
        with self._lock:
            self._over = True
            for worker in self._workers.values():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(worker.pid, signal.SIGKILL)

    def _start(self, worker: Worker) -> None:
        with self._lock:
            if self._over:
                return
            worker.sent = None
            log = self._logs / f"{worker.name}.log"
            node = f"{worker.name}@faults"
            host = self._hosts.get(worker.name)
            worker.pid = self._forks.start(worker.queues, node, log, self._environment, self._note_end, host)

    def _note_end(self, pid: int, status: int) -> None:
        # In a thread of its own: whoever holds the lock may be waiting for what the caller reads next.
        threading.Thread(target=self._replace, args=(pid, status), name="restart", daemon=True).start()

    def _replace(self, pid: int, status: int) -> None:
        with self._lock:
            if self._over:
                return
            worker = next(one for one in self._workers.values() if one.pid == pid)
            crashed = worker.sent is None
            if crashed:
                self.crashes.append(f"{worker.name} ended by itself with status {status}")
        if crashed:
            time.sleep(PAUSE_AFTER_CRASH)
        self._start(worker)
