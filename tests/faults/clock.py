"""A clock of which the run moves the hands, for the processes that are to believe it.

libfaketime 0.9.10 is not used: with monotonic time left alone, as it must be, it breaks `clock_nanosleep`.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
import sys
from pathlib import Path

from tests.faults.worker_process import ROOT

SOURCE = ROOT / "tests" / "support" / "turned_clock.c"


class Clock:
    """A clock that is right until it is turned. Monotonic time goes on, as it does on a machine that is set back."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock"
        self.turn(0)
        library = folder / "turned_clock.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE)], check=True)
        self.environment = {"LD_PRELOAD": str(library), "TURNED_CLOCK": str(self._file)}
        """What a process is started with to go by this clock."""

    def turn(self, seconds: int) -> None:
        """Set the clock so many seconds off the right time."""
        # Written in place: the processes have mapped the file.
        with self._file.open("r+b" if self._file.exists() else "wb", buffering=0) as file:
            file.write(struct.pack("=q", seconds))


def no_clock() -> str | None:
    """Why there is no such clock here; None where there is."""
    if not sys.platform.startswith("linux"):
        return "a clock can be turned on Linux only"
    return None if shutil.which("cc") else "there is no C compiler for the clock (apt install gcc)"
