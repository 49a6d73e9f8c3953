"""Work that must not end with an error: it is done over and over, whatever fails, until it is told to end."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

import redis
from kombu.exceptions import OperationalError

from memshare_broker.errors import Unreachable

log = logging.getLogger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0  # seconds; a worker counts as gone after four times the longest
OUTAGE = (redis.RedisError, OperationalError, OSError, Unreachable)


def repeat(
    name: str, step: Callable[[], object], ended: threading.Event, *, every: float = 0, delay: float = 0
) -> None:
    """Do a step every so many seconds, first after `delay`, until `ended` is set.

    A step that fails is done again after a pause, which grows. The first failure is logged, with its traceback unless
    Redis or the system is at fault, and then the first step that works again.
    """
    failures = 0
    wait = delay
    while not ended.wait(wait):
        try:
            step()
        except Exception as error:
            if not failures:
                trace = None if isinstance(error, OUTAGE) else error
                log.warning("%s failed, and is tried until it works: %r", name, error, exc_info=trace)
            wait = min(FIRST_PAUSE * 2**failures, LONGEST_PAUSE)
            failures = min(failures + 1, 10)
        else:
            if failures:
                log.info("%s works again.", name)
            failures, wait = 0, every


def steady_thread(
    name: str, step: Callable[[], object], ended: threading.Event, *, every: float = 0, delay: float = 0
) -> threading.Thread:
    """A running daemon thread that repeats a step until `ended` is set."""
    thread = threading.Thread(
        target=repeat, args=(name, step, ended), kwargs={"every": every, "delay": delay}, name=name, daemon=True
    )
    thread.start()
    return thread
