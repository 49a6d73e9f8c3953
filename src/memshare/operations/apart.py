"""Does in a process of its own what would bring numpy and scipy into this one, or takes long; it ends with that.

Who waits for it waits in a thread of those that answer, so few may: each caller for two things, and all for eight. Who
asks the same waits for the same process, and with the last of them it is ended.
"""

from __future__ import annotations

import functools
import multiprocessing
import threading
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Hashable
from concurrent.futures import Future
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, TypeVarTuple, Unpack, cast

from memshare.client.errors import TooManyRequests
from memshare_broker.errors import TryAgain

if TYPE_CHECKING:
    from anyio import CapacityLimiter

P = ParamSpec("P")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")
IsGone = Callable[[], Coroutine[Any, Any, bool]]

WITHIN = 120.0  # seconds
MOST_OF_ONE, MOST_OF_ALL = 2, 8  # who may wait, of one caller and in all
COME_BACK = 5.0  # seconds, for who may not
LOOK = 0.25  # seconds between two looks whether who asks is there still

ASKING: ContextVar[tuple[str, IsGone] | None] = ContextVar("ASKING", default=None)
"""Who asks at a door, and whether they have gone; None for a command."""


class Apart:
    """Runs work of one kind in a process of its own, one process at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # of what stands below
        self._works: dict[Hashable, _Work] = {}
        self._waiting: Counter[str] = Counter()
        self._turn = threading.Lock()  # of who computes

    def __call__(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the result of a function, or raise its error; calls with the same arguments share the work.

        A command, for which nobody else waits, does it in its own process.

        Raises `TooManyRequests` where too many wait, `TryAgain` where it takes too long.
        """
        if (asking := ASKING.get()) is None:
            return function(*args, **kwargs)
        who, is_gone = asking
        key = (function, args, tuple(sorted(kwargs.items())))
        with self._lock:
            if self._waiting[who] >= MOST_OF_ONE or self._waiting.total() >= MOST_OF_ALL:
                what = "You are" if self._waiting[who] >= MOST_OF_ONE else "Others are"
                raise TooManyRequests(
                    f"{what} waiting for what takes long already. Ask again in {COME_BACK:.0f} s.", COME_BACK
                )
            self._waiting[who] += 1
            work = self._works.get(key)
            is_new = work is None
            work = work or self._works.setdefault(key, _Work())
            work.wanted_by += 1
        if is_new:
            threading.Thread(target=self._run, args=(key, work, function, args, kwargs), daemon=True).start()
        try:
            return cast("T", work.wait(is_gone))
        finally:
            with self._lock:
                self._waiting[who] -= 1
                work.wanted_by -= 1
                if not work.wanted_by and self._works.get(key) is work:
                    del self._works[key]

    def _run(self, key: Hashable, work: _Work, function: Callable[..., Any], args: Any, kwargs: Any) -> None:
        try:
            with self._turn:
                if work.wanted_by:
                    work.made.set_result(_result(work, function, args, kwargs))
        except Exception as error:  # noqa: BLE001 - whoever asked is told
            work.made.set_exception(error)
        finally:
            with self._lock:
                if self._works.get(key) is work:
                    del self._works[key]


def _result(work: _Work, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    with multiprocessing.get_context("spawn").Pool(1) as pool:  # its end kills what is still at work
        result = pool.apply_async(function, args, kwargs)
        while work.wanted_by and not result.ready():
            result.wait(LOOK)
        return result.get() if result.ready() else None


class _Work:
    """A computation, and the number of callers that wait for it."""

    def __init__(self) -> None:
        self.made: Future[Any] = Future()
        self.wanted_by = 0

    def wait(self, is_gone: IsGone) -> Any:
        until = time.monotonic() + WITHIN
        while time.monotonic() < until:
            try:
                return self.made.result(LOOK)
            except TimeoutError:
                if self.made.done():  # it says so itself
                    raise
                if _is_so(is_gone):
                    raise TryAgain("Who asked has gone.") from None
        raise TryAgain(f"It took more than {WITHIN:.0f} seconds. Try again.", 60)


computed, answered = Apart(), Apart()


async def at_the_entrance(function: Callable[[Unpack[Ts]], T], *args: *Ts) -> T:
    """The result of a function that finds who asks, or checks this process; it never waits for a thread."""
    from anyio import to_thread

    return await to_thread.run_sync(function, *args, limiter=_entrance())


@functools.cache
def _entrance() -> CapacityLimiter:
    """Threads that nothing has which takes long."""
    from anyio import CapacityLimiter

    return CapacityLimiter(8)


def _is_so(asks: IsGone) -> bool:
    from anyio import from_thread  # of an extra, as commands are there without

    return from_thread.run(asks)
