"""How many things need a person, as every page says: counted now and then, for each caller."""

from __future__ import annotations

import threading
import time
from typing import NamedTuple

from memshare.operations.backend import Backend
from memshare.operations.caller import Caller
from memshare.operations.needs import MOST, may_decide, needs
from memshare_broker.connection import DOWN
from memshare_broker.errors import MemshareError

SOONEST, LATEST = 5.0, 30.0  # seconds between two counts
SHARE = 0.01  # of the time goes to counting, at most, unless that were later
MOST_CALLERS = 1_000
STARTING = "Starting: the memory service has not answered yet."


class Count(NamedTuple):
    """The number of what needs a person; `away` says what does not answer, so that some of it was not counted."""

    number: int | None = None
    away: str = ""


class Needs:
    """The count for each caller, which is some seconds old."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._counts: dict[Caller, tuple[float, Count]] = {}
        """When to count again, and what the last count was."""
        self._lock = threading.Lock()

    def look_again(self) -> None:
        """Count anew: somebody has decided something."""
        with self._lock:
            self._counts.clear()

    def count(self, caller: Caller) -> Count:
        """The count now; while one page counts, the others go by what was counted before."""
        begun = time.monotonic()
        with self._lock:
            due, last = self._counts.get(caller, (0.0, Count()))
            if begun < due:
                return last
            if len(self._counts) >= MOST_CALLERS:
                self._counts.clear()
            self._counts[caller] = (begun + LATEST, last)
        found = self._look(caller)
        took = time.monotonic() - begun
        wait = SOONEST if found.away else min(max(SOONEST, took / SHARE), LATEST)
        with self._lock:
            self._counts[caller] = (time.monotonic() + wait, found)
        return found

    def _look(self, caller: Caller) -> Count:
        try:
            found = needs(self._backend, caller, MOST)
        except (MemshareError, *DOWN) as error:
            return Count(away=str(error))
        total = found.total - sum(not may_decide(caller, one) for one in found.needs)
        return Count(total, STARTING if found.missing and self._backend.is_starting else " ".join(found.missing))
