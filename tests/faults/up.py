"""`memshare up` as a fleet of one: it keeps its workers itself, and a Redis that can be killed."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

import psutil

from tests.faults.fleet import Fleet
from tests.faults.worker_process import start_memshare
from tests.support.prepared_python import Process

OPTIONS = ("--flower-port", "0", "--port", "0", "--agents", "1")
REVIVED_WITHIN = 30  # seconds
NOT_YET = 0  # no process that is a worker has this id


class Up(Fleet):
    """A `memshare up`, which is a crash when it ends, and the workers that it has."""

    @property
    def pids(self) -> set[int]:
        return {child.pid for child, words in self._children() if "worker" in words} or {NOT_YET}

    def kill_redis(self) -> None:
        """Kill the Redis that there is, or the next one if that is dead already."""
        deadline = time.monotonic() + REVIVED_WITHIN
        while time.monotonic() < deadline:
            for child, words in self._children():
                if "memshare" not in words:
                    child.kill()
                    return
            time.sleep(0.02)
        raise AssertionError(f"`memshare up` did not start Redis again within {REVIVED_WITHIN} s")

    def stop(self) -> None:
        """End it, and wait for what it has started, which ends with it."""
        started = [child for child, _ in self._children()]
        super().stop()
        psutil.wait_procs(started, timeout=REVIVED_WITHIN)

    def _children(self) -> Iterator[tuple[psutil.Process, list[str]]]:
        """Each process that it has started and that runs, with its command line."""
        with contextlib.suppress(psutil.NoSuchProcess):
            for child in psutil.Process(self.pid("up")).children():
                if child.status() != psutil.STATUS_ZOMBIE:
                    yield child, child.cmdline()

    def _started(self, name: str, _queues: tuple[str, ...]) -> Process:
        return start_memshare(["up", *OPTIONS], self._logs / f"{name}.log", self._environment)
