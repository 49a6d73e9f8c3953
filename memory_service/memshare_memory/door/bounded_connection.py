"""An HTTP connection with bounds: of its headers, of the time a request or an answer takes, of connections at once.

uvicorn bounds headers with h11 alone, which takes three times as long as httptools, and gives no request a time. Bounds
by address are for a proxy in front.
"""

from __future__ import annotations

import asyncio
import logging
import resource
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import uvicorn
from starlette.responses import Response
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from memshare_memory.door.client import BACKLOG

log = logging.getLogger(__name__)

LARGEST_HEAD = 32 * 2**10  # bytes of the request line and the headers
MOST_PIPELINED = 8  # requests that are sent before the first one is answered
MOST_CONNECTIONS = 2_000
TELL_EVERY = 60.0  # seconds
KEEP_ALIVE = 75  # seconds that a connection may be idle; longer than clients keep one
END_WITHIN = 5  # seconds for requests that are being answered


def most_connections() -> int:
    """Up to 2,000; at most half of the files that this process may open (`ulimit -n`): it opens some itself."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_CONNECTIONS if files == resource.RLIM_INFINITY else max(min(MOST_CONNECTIONS, files // 2), 1)


@dataclass
class Bounds:
    """The bounds of one server, and its connections that wait for a whole request, the longest waiting one in front."""

    refusal: Callable[[int, str], Response]  # words an error, by status and detail
    within: float  # seconds for a request to arrive, and for each 64 KiB of an answer to be taken
    connections: int = field(default_factory=most_connections)
    waiting: dict[BoundedConnection, None] = field(default_factory=dict)
    told: float = -TELL_EVERY


class BoundedConnection(HttpToolsProtocol):
    """A connection of uvicorn that gives up on a request that is too large, or too slow to arrive.

    If there are too many, a new one takes the place of the one that has waited longest for a whole request; it is
    refused if all are being answered.
    """

    def __init__(self, bounds: Bounds, **uvicorns: Any) -> None:
        super().__init__(**uvicorns)
        self._bounds = bounds
        self._head = 0  # bytes received since the parser last came to the end of a head, or to a part of a body
        self._is_whole = True
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._set_deadline()
        bounds = self._bounds
        if len(self.connections) > bounds.connections:
            if self.loop.time() - bounds.told >= TELL_EVERY:
                bounds.told = self.loop.time()
                log.warning("There are %d connections, the most that are held: some give way.", bounds.connections)
            longest = next(iter(bounds.waiting), None)
            if longest is None:
                self._refuse(503, "There are more connections than are taken. Ask again in a few seconds.")
                return
            del bounds.waiting[longest]
            longest.transport.abort()
        bounds.waiting[self] = None

    def connection_lost(self, exc: Exception | None) -> None:
        self._unset_deadline()
        self._unset_keepalive_if_required()
        self._bounds.waiting.pop(self, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._head += len(data)
        self._is_whole = False
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._head > LARGEST_HEAD:
            self.send_400_response("")
        elif not self._is_whole and self._deadline is None:
            self._set_deadline()

    def on_headers_complete(self) -> None:
        self._head = len(self.url) + sum(len(name) + len(value) + len(": \r\n") for name, value in self.headers)
        if self._head > LARGEST_HEAD or len(self.pipeline) >= MOST_PIPELINED:
            raise ValueError("more than is taken")
        self._head = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._head = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._head, self._is_whole = 0, True
        self._unset_deadline()
        if not self.cycle.response_complete:
            self._bounds.waiting.pop(self, None)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete:
            self._bounds.waiting[self] = None

    def pause_writing(self) -> None:
        super().pause_writing()
        self._set_deadline()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._is_whole:
            self._unset_deadline()
        else:
            self._set_deadline()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - the reason is ours
        """Give up on a head that is too large, or on what is no HTTP."""
        if self._head > LARGEST_HEAD:
            self._refuse(431, f"The headers are larger than {LARGEST_HEAD:,} bytes: send less in them.")
        else:
            self._refuse(400, "This is no HTTP request that can be read.")

    def _set_deadline(self) -> None:
        self._unset_deadline()
        self._deadline = self.loop.call_later(self._bounds.within, self._too_slow)

    def _unset_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_slow(self) -> None:
        nobody_asks = not self._head and (self.cycle is None or self.cycle.response_complete)
        if nobody_asks or self.flow.write_paused or self.transport.is_closing():
            self.transport.abort()
        else:
            self._refuse(408, "The request did not arrive in time: send it at once.")

    def _refuse(self, status: int, detail: str) -> None:
        """Close, with a reason where nothing else is being answered."""
        cycle = self.cycle
        is_own = cycle is None or cycle.response_complete or (cycle.more_body and not cycle.response_started)
        if self.pipeline or not is_own:
            self.transport.abort()
            return
        response = self._bounds.refusal(status, detail)
        headers = [*self.server_state.default_headers, *response.raw_headers, (b"connection", b"close")]
        lines = b"".join(b"%s: %s\r\n" % header for header in headers)
        self.transport.write(b"%s%s\r\n%s" % (STATUS_LINE[status], lines, bytes(response.body)))
        self.transport.close()
        self._set_deadline()  # for who does not read it


def server_config(
    app: ASGIApp, bounds: Bounds, connection: type[BoundedConnection] = BoundedConnection, **more: Any
) -> uvicorn.Config:
    """The configuration of a server of ours, with these bounds."""
    return uvicorn.Config(
        app,
        http=cast("type[asyncio.Protocol]", partial(connection, bounds)),
        log_config=None,
        log_level="error",  # what is below it tells of clients' mistakes
        access_log=False,
        server_header=False,
        proxy_headers=False,  # whoever sends them could pass for this machine
        ws="none",
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=END_WITHIN,
        **more,
    )
