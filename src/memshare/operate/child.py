"""A process that is started again when it dies, and dies with its parent."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

SHORTEST_LIFE = 5  # seconds; a child that dies sooner waits as long before it is started again
PR_SET_PDEATHSIG = 1


@dataclass
class Child:
    """A process that is started again when it dies."""

    name: str
    start: Callable[[], subprocess.Popen[bytes]]
    log: Path
    process: subprocess.Popen[bytes] = field(init=False)
    started: float = field(init=False)
    restarts: int = 0

    def __post_init__(self) -> None:
        self.process, self.started = self.start(), time.monotonic()

    def revive(self) -> bool:
        """Start it again if it has died; True when it has."""
        if self.process.poll() is None or time.monotonic() - self.started < SHORTEST_LIFE:
            return False
        self.process, self.started = self.start(), time.monotonic()
        self.restarts += 1
        return True

    def stop(self, patience: float) -> None:
        if self.process.poll() is not None:
            return
        self.process.terminate()
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def ends_with_parent(sign: signal.Signals) -> Callable[[], None] | None:
    """What a child runs first so that it ends when its parent is killed; only Linux can do that."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    return lambda: library.prctl(PR_SET_PDEATHSIG, int(sign))
