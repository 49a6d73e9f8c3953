"""Does in a process of its own what would bring numpy and scipy into this one; it ends with what it was asked for."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from memshare_broker.errors import TryAgain

P = ParamSpec("P")
T = TypeVar("T")

WITHIN = 120.0  # seconds
_one_at_a_time = threading.Lock()


def apart(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What a function returns or raises; one at a time. Raises `TryAgain` where it takes too long."""
    if not _one_at_a_time.acquire(timeout=WITHIN):
        raise TryAgain("Others are asking for what is computed apart. Try again in a minute.", 60)
    try:
        with multiprocessing.get_context("spawn").Pool(1) as pool:  # its end kills what is still at work
            return pool.apply_async(function, args, kwargs).get(WITHIN)
    except multiprocessing.TimeoutError as error:
        raise TryAgain(f"It took more than {WITHIN:.0f} seconds. Try again, or use the command line.", 60) from error
    finally:
        _one_at_a_time.release()
