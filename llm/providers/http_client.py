"""The HTTP connection to a chat model: one time limit for a call, a bounded reply, a shared pool."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import httpx2

# Room for the longest text that is taken, every character escaped, and for the model's reasoning beside it.
MAX_REPLY_BYTES = 8_000_000


class ReplyTooLong(httpx2.TransportError):
    """The server sends more than any reply can hold."""


def open_client(*, timeout: float, connections: int) -> httpx2.Client:
    """A client that several threads share; it connects when it is first used, and again when it must.

    `timeout` is for the whole call in seconds, where httpx2's own starts again at every read. Only a server
    that trickles its reply can exceed it: it is cut off as soon as it has sent more after the limit, and no
    pause of it may be longer than what was left when it began.
    """
    return httpx2.Client(
        timeout=timeout,
        limits=httpx2.Limits(max_connections=connections, max_keepalive_connections=connections),
        event_hooks={
            "request": [lambda request: _start_clock(request, timeout)],
            "response": [_bound_body],
        },
    )


def _start_clock(request: httpx2.Request, timeout: float) -> None:
    """Give every step of the call (connecting, sending, waiting, reading) what is left of its time."""
    deadline = time.monotonic() + timeout

    def share_out(event: str, _info: dict[str, Any]) -> None:
        if event.endswith(".started"):
            # Never 0, which would mean a socket that does not wait at all.
            left = max(deadline - time.monotonic(), 0.001)
            request.extensions["timeout"] = {"connect": left, "read": left, "write": left, "pool": left}

    request.extensions["trace"] = share_out
    request.extensions["deadline"] = deadline


def _bound_body(response: httpx2.Response) -> None:
    if isinstance(response.stream, httpx2.SyncByteStream):
        response.stream = _BoundedBody(response.stream, response.request.extensions["deadline"])


class _BoundedBody(httpx2.SyncByteStream):
    def __init__(self, body: httpx2.SyncByteStream, deadline: float) -> None:
        self._body = body
        self._deadline = deadline

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for part in self._body:
            size += len(part)
            if size > MAX_REPLY_BYTES:
                raise ReplyTooLong(f"the reply is longer than {MAX_REPLY_BYTES:,} bytes")
            if time.monotonic() > self._deadline:
                raise httpx2.ReadTimeout("the reply did not end in time")
            yield part

    def close(self) -> None:
        self._body.close()
