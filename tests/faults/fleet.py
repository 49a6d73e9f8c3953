"""The workers of a run: each is started again when it ends, as Kubernetes or `memshare up` would do."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.faults.hosts import Host
from tests.faults.worker_process import start_memshare

PAUSE_AFTER_CRASH = 1.0  # seconds
LOOK_EVERY = 0.02  # seconds


@dataclass
class Worker:
    """One worker, whichever process it is at the moment."""

    name: str
    queues: tuple[str, ...]
    process: subprocess.Popen[bytes]
    sent: signal.Signals | None = None
    """The signal by which the run ends this process."""
    is_wanted: bool = True
    """Whether it is started again when it ends."""
    starts_at: float = 0.0
    """When it is started again at the earliest, after it has ended."""


class Fleet:
    """Worker processes by name. `ended` counts those that the run has ended, `crashes` names all others that ended.

    A worker runs on the host of its name where there is one, and with the settings that are its `own`.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        logs: Path,
        hosts: Mapping[str, Host] | None = None,
        own: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self.ended = 0
        self.crashes: list[str] = []
        self._environment, self._logs = environment, logs
        self._hosts = hosts or {}
        self._own = own or {}
        self._workers: dict[str, Worker] = {}
        self._lock = threading.RLock()
        self._over = threading.Event()
        # One thread starts them again, for as long as the fleet is there: they end with who started them.
        self._keeper = threading.Thread(target=self._keep, name="fleet", daemon=True)
        self._keeper.start()

    @property
    def names(self) -> list[str]:
        return list(self._workers)

    def pid(self, name: str) -> int:
        """The process that a worker is at the moment."""
        with self._lock:
            return self._workers[name].process.pid

    @property
    def pids(self) -> set[int]:
        with self._lock:
            return {worker.process.pid for worker in self._workers.values()}

    @property
    def is_ending(self) -> bool:
        """Whether a worker that was told to end has not been started again."""
        with self._lock:
            return any(worker.sent for worker in self._workers.values())

    def add(self, name: str, *queues: str) -> None:
        """Start a worker, of the queue of its name if no queues are given."""
        served = queues or (name,)
        with self._lock:
            self._workers[name] = Worker(name, served, self._started(name, served))

    def end(self, name: str, sign: signal.Signals) -> None:
        """End a worker's process by a signal, unless it is ending already. It is started again."""
        with self._lock:
            worker = self._workers[name]
            if worker.sent is None:
                worker.sent = sign
                self.ended += 1
                worker.process.send_signal(sign)

    def send(self, name: str, sign: signal.Signals) -> None:
        """Send a worker's process a signal that does not end it."""
        with self._lock:
            self._workers[name].process.send_signal(sign)

    @contextmanager
    def without(self, name: str) -> Iterator[None]:
        """Kill a worker, and start it again at the end of the block only."""
        worker = self._workers[name]
        worker.is_wanted = False
        try:
            self.end(name, signal.SIGKILL)
            worker.process.wait()
            yield
        finally:
            worker.is_wanted = True

    def stop(self) -> None:
        """End every worker for good."""
        self._over.set()
        self._keeper.join()
        for worker in self._workers.values():
            worker.process.kill()
            worker.process.wait()

    def _started(self, name: str, queues: tuple[str, ...]) -> subprocess.Popen[bytes]:
        environment = {**self._environment, **self._own.get(name, {})}
        return start_memshare(["worker", *queues], self._logs / f"{name}.log", environment, self._hosts.get(name))

    def _keep(self) -> None:
        while not self._over.wait(LOOK_EVERY):
            with self._lock:
                for worker in self._workers.values():
                    if worker.process.poll() is not None:
                        self._start_again(worker)

    def _start_again(self, worker: Worker) -> None:
        now = time.monotonic()
        if worker.sent is None and not worker.starts_at:
            self.crashes.append(f"{worker.name} ended by itself with status {worker.process.returncode}")
            worker.starts_at = now + PAUSE_AFTER_CRASH
        if worker.is_wanted and now >= worker.starts_at:
            worker.process = self._started(worker.name, worker.queues)
            worker.sent, worker.starts_at = None, 0.0
