"""Workers as forks of one warm process, from the side of who starts them."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.faults.hosts import Host

ROOT = Path(__file__).parents[2]
START_WITHIN = 120  # seconds

Ended = Callable[[int, int], None]
"""Called with a worker's process id and exit code, the negative signal if one ended it."""


class Forks:
    """A running `tests.support.worker_forkserver`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._said: queue.Queue[str] = queue.Queue()
        self._asking = threading.Lock()
        self._coming: Ended | None = None
        self._ended: dict[int, Ended] = {}
        threading.Thread(target=self._listen, name="forks", daemon=True).start()
        assert self._said.get(timeout=START_WITHIN) == "ready"

    def start(
        self,
        queues: Sequence[str],
        node: str,
        log: Path,
        environment: Mapping[str, str],
        ended: Ended,
        host: Host | None = None,
    ) -> int:
        """Start a worker for these queues, on a host of its own if one is given, and return its process id."""
        assert self._process.stdin is not None
        wanted: dict[str, Any] = {
            "queues": list(queues),
            "node": node,
            "log": str(log),
            "environment": dict(environment),
        }
        wanted["namespace"] = str(host.namespace) if host else None
        with self._asking:
            self._coming = ended
            self._process.stdin.write(json.dumps(wanted) + "\n")
            self._process.stdin.flush()
            return int(self._said.get(timeout=START_WITHIN))

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            what, *numbers = line.split()
            if what == "ended":
                pid, status = map(int, numbers)
                self._ended.pop(pid)(pid, status)
            elif what == "started":
                assert self._coming is not None
                self._ended[int(numbers[0])] = self._coming
                self._said.put(numbers[0])
            else:
                self._said.put(what)


@contextmanager
def forks(log: Path, **more: str) -> Iterator[Forks]:
    """A fork server for as long as the block runs, with these variables in the environment of its workers."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MEMSHARE_")} | more
    with log.open("ab") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.worker_forkserver"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=file,
            text=True,
            start_new_session=True,
        )
    try:
        yield Forks(process)
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe:
                pipe.close()
