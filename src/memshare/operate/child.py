"""Processes that a command starts: their environment, and how they live and die with it."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import SecretStr

from memshare_broker.settings import Settings

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
        """Start it again if it has ended; True where it had died."""
        if self.process.poll() is None or time.monotonic() - self.started < SHORTEST_LIFE:
            return False
        self.process, self.started = self.start(), time.monotonic()
        self.restarts += 1
        return True

    @property
    def last_line(self) -> str:
        """The last line of its log."""
        lines = self.log.read_text(errors="replace").strip().splitlines() if self.log.exists() else []
        return lines[-1] if lines else "no output."

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


def environment_of(settings: Settings) -> dict[str, str]:
    """This process's environment, with the places that these settings name in place of its own.

    What a file of settings said stands in it, too: the file may name places of another deployment.
    """
    environment = os.environ | {"MEMSHARE_DATA": str(settings.data)}
    environment.pop("MEMSHARE_CONFIG", None)
    for name in settings.model_fields_set - {"data", "config"}:
        if (value := getattr(settings, name)) is not None:
            environment.setdefault(f"MEMSHARE_{name.upper()}", _text(value))
        if isinstance(value, Path):  # as it is written out: a child may run in another folder
            environment[f"MEMSHARE_{name.upper()}"] = str(value)
    for name in ("redis_url", "qdrant_url", "memory_url", "exports"):
        variable, value = f"MEMSHARE_{name.upper()}", getattr(settings, name)
        environment.pop(variable, None)
        if value:
            environment[variable] = str(value)
    return environment


def _text(value: object) -> str:
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value)
