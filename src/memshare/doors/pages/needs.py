"""How many things need a person, as every page says: counted now and then, for each caller."""

from __future__ import annotations

import threading
import time

from memshare.doors.backend import Backend
from memshare.doors.caller import Caller
from memshare.doors.calls.needs import needs
from memshare_broker.connection import DOWN
from memshare_broker.errors import MemshareError

COUNTED_EVERY = 5.0  # seconds
MOST_CALLERS = 1_000


class Needs:
    """The number for each caller, which is a few seconds old at most."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._counts: dict[Caller, tuple[float, int | None]] = {}
        self._lock = threading.Lock()

    def look_again(self) -> None:
        """Count anew: somebody has decided something."""
        with self._lock:
            self._counts.clear()

    def count(self, caller: Caller) -> int | None:
        """The number now; None where it is not known, as the memory service is away."""
        with self._lock:
            counted, number = self._counts.get(caller, (-COUNTED_EVERY, None))
        if time.monotonic() - counted < COUNTED_EVERY:
            return number
        try:
            number = needs(self._backend, caller).total
        except (MemshareError, *DOWN):
            number = None
        with self._lock:
            if len(self._counts) >= MOST_CALLERS:
                self._counts.clear()
            self._counts[caller] = (time.monotonic(), number)
        return number
