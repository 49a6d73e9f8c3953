"""A time limit for a whole call over HTTP, kept even where a server sends a byte now and then."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

import httpcore2

Left = Callable[[], float]
"""The seconds that are left; raises httpcore2's `ReadTimeout` when there are none."""


LOOK_EVERY = 1.0  # seconds
INTERRUPTED: ContextVar[Callable[[], bool] | None] = ContextVar("interrupted", default=None)
"""Function that returns True if this thread's call is to end now; it is asked every second during the call's wait."""


class Deadline:
    """The end of a time limit that starts now."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """The seconds that are left; raises httpcore2's `ReadTimeout` when there are none."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise httpcore2.ReadTimeout("the time is over")
        return left


class TimedStream(httpcore2.NetworkStream):
    """A connection whose every step gets what is left of the time, where its own limit would start again."""

    def __init__(self, stream: httpcore2.NetworkStream, left: Left) -> None:
        self._stream = stream
        self._left = left

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002 - the deadline counts
        is_interrupted = INTERRUPTED.get()
        while is_interrupted is not None:
            with suppress(httpcore2.ReadTimeout):
                return self._stream.read(max_bytes, min(self._left(), LOOK_EVERY))
            if is_interrupted():
                raise httpcore2.ReadError("it was interrupted")
            self._left()
        return self._stream.read(max_bytes, self._left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002 - the deadline counts
        self._stream.write(buffer, self._left())

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002 - the deadline counts
    ) -> httpcore2.NetworkStream:
        return TimedStream(self._stream.start_tls(ssl_context, server_hostname, self._left()), self._left)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class CallsInTime(httpcore2.NetworkBackend):
    """The network for a pool of connections, of which each call has a time limit of its own.

    A thread starts its limit with `start` and then makes its call: all that it reads and writes is within that.
    """

    def __init__(self) -> None:
        self._sockets = httpcore2.SyncBackend()
        self._calls = threading.local()

    def start(self, seconds: float) -> None:
        """Let the time of the call that this thread makes next begin now."""
        self._calls.deadline = Deadline(seconds)

    def _left(self) -> float:
        deadline: Deadline = self._calls.deadline
        return deadline.left()

    def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, *args: Any, **more: Any
    ) -> httpcore2.NetworkStream:
        seconds = min(self._left(), timeout or float("inf"))
        return TimedStream(self._sockets.connect_tcp(host, port, seconds, *args, **more), self._left)

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, *args: Any, **more: Any
    ) -> httpcore2.NetworkStream:
        seconds = min(self._left(), timeout or float("inf"))
        return TimedStream(self._sockets.connect_unix_socket(path, seconds, *args, **more), self._left)

    def sleep(self, seconds: float) -> None:
        self._sockets.sleep(seconds)
