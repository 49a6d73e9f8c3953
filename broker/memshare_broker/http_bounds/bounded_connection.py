"""An HTTP connection with bounds: of its headers, of the time a request or an answer takes, of requests at once.

uvicorn bounds headers with h11 alone, which takes three times as long as httptools, and bounds neither the time in
which a request arrives nor the connections from one address.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import time
from collections import Counter
from collections.abc import Callable
from enum import Enum, auto
from functools import partial
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any, NamedTuple, Protocol, cast

import httptools
from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

log = logging.getLogger(__name__)

MOST = 2_000
TELL_EVERY = 60.0  # seconds


class CountedConnection(Protocol):
    """A connection that can be closed to make room for another one."""

    def give_way(self) -> None: ...


class ConnectionCount:
    """The connections of one server; of one event loop.

    One that comes when there are `most` takes the place of the one that has waited longest for a request; one from an
    address that has `most_of_one` takes the place of one of its own. Where all are being answered, it is refused.
    """

    def __init__(self, most: int, most_of_one: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._most_of_one = most, most_of_one
        self._clock = clock
        self._source_of: dict[CountedConnection, str | None] = {}
        self._from: Counter[str] = Counter()
        self._waiting: dict[CountedConnection, None] = {}
        """In the order in which they began to wait."""
        self._turned_away = 0
        self._told = -TELL_EVERY

    def enter(self, connection: CountedConnection, address: str | None) -> bool:
        """Count a connection, which waits for its first request; False where there is no room.

        `address` is the IP address of the other side, None for a Unix socket, whose users are not told apart.
        """
        source = None if address is None else _source(address)
        crowded = source is not None and self._from[source] >= self._most_of_one
        if crowded or len(self._source_of) >= self._most:
            among = (one for one in self._waiting if not crowded or self._source_of[one] == source)
            longest = next(among, None)
            self._tell(source, crowded)
            if longest is None:
                return False
            self.leave(longest)
            longest.give_way()
        self._source_of[connection] = source
        if source is not None:
            self._from[source] += 1
        self._waiting[connection] = None
        return True

    def leave(self, connection: CountedConnection) -> None:
        """Count a connection no longer; one that is not counted is left alone."""
        self._waiting.pop(connection, None)
        if connection not in self._source_of:
            return
        source = self._source_of.pop(connection)
        if source is not None:
            self._from[source] -= 1
            if not self._from[source]:
                del self._from[source]

    def works(self, connection: CountedConnection) -> None:
        """Note that a request of this connection is being answered."""
        self._waiting.pop(connection, None)

    def waits(self, connection: CountedConnection) -> None:
        """Note that this connection waits for its next request."""
        if connection in self._source_of:
            self._waiting[connection] = None

    def _tell(self, source: str | None, crowded: bool) -> None:
        self._turned_away += 1
        now = self._clock()
        if now - self._told >= TELL_EVERY:
            held = f"{self._most_of_one} connections from {source}" if crowded else f"{self._most} connections in all"
            log.warning("There are %s, the most that are held. So far %d had to give way.", held, self._turned_away)
            self._told = now


def count_for_this_process() -> ConnectionCount:
    """Up to 2,000 connections, and half as many from one address: fewer where the process may open few files.

    Half of the files that it may open (`ulimit -n`) are left for what it opens itself.
    """
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST if files == resource.RLIM_INFINITY else max(min(MOST, files // 2), 2)
    return ConnectionCount(most, most // 2)


def _source(address: str) -> str:
    """Who is at an address: of IPv6 its network of 64 bits, for whoever has one address there has all of them."""
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if isinstance(found, IPv6Address) and found.ipv4_mapped is None and not found.is_loopback:
        return str(ip_network((found, 64), strict=False))
    return address


LARGEST_HEAD = 32 * 2**10  # bytes of the request line and the headers
MOST_PIPELINED = 8  # requests that are sent before the first one is answered
LINGER = 2.0  # seconds in which a client may read why it was refused


class Bounds(NamedTuple):
    """Differences between servers: how an error is worded, by status and detail, and how long to wait."""

    refusal: Callable[[int, str], Response]
    body_within: float
    """Seconds for the body of a request to arrive, and for each 64 KiB of an answer to be taken."""
    head_within: float = 10.0
    """Seconds for its headers to arrive, and for the first request of a connection to begin."""


class ReadState(Enum):
    """Which part of a request arrives now."""

    NOTHING = auto()
    HEAD = auto()
    BODY = auto()


class BoundedConnection(HttpToolsProtocol):
    """A connection of uvicorn that gives up on a request that is too large, or too slow to arrive."""

    def __init__(self, bounds: Bounds, count: ConnectionCount, **uvicorns: Any) -> None:
        super().__init__(**uvicorns)
        self._bounds, self._count = bounds, count
        self._reading = ReadState.NOTHING
        self._head = 0
        """Bytes of the head that were parsed, of trailers, too."""
        self._unparsed = 0
        """Bytes received since the parser last had something to tell."""
        self._deadline: asyncio.TimerHandle | None = None
        self._is_refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self._count.enter(self, self.client[0] if self.client else None):
            self._expect_within(self._bounds.head_within)
        else:
            self._write(503, "There are more connections than are taken. Ask again in a few seconds.")
            self.transport.close()
            self._is_refused = True

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect_within(None)
        self._unset_keepalive_if_required()
        self._count.leave(self)
        super().connection_lost(exc)

    def give_way(self) -> None:
        """Close, for another connection takes the place of this one, which waits for a request."""
        self.transport.abort()

    def shutdown(self) -> None:
        if self._is_refused:
            self.transport.abort()
        else:
            super().shutdown()

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            return
        self._unparsed += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # nothing else is spoken here: the request is answered as it is
        except httptools.HttpParserError:
            if self._head <= LARGEST_HEAD:
                self._refuse(400, "This is no HTTP request that can be read.")
                return
        if self._head + self._unparsed > LARGEST_HEAD:
            self._refuse(431, f"The headers are larger than {LARGEST_HEAD:,} bytes: send less in them.")
        elif self._reading is not ReadState.NOTHING and self._deadline is None:
            self._unset_keepalive_if_required()
            is_head = self._reading is ReadState.HEAD
            self._expect_within(self._bounds.head_within if is_head else self._bounds.body_within)

    def on_message_begin(self) -> None:
        self._reading, self._head = ReadState.HEAD, 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._parsed(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._parsed(len(name) + len(value) + len(": \r\n"))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if len(self.pipeline) >= MOST_PIPELINED:
            raise ValueError("more requests at once than are taken")
        self._reading, self._unparsed = ReadState.BODY, 0
        self._unset_keepalive_if_required()
        self._expect_within(None)
        self._count.works(self)
        super().on_headers_complete()

    def on_chunk_header(self) -> None:
        self._unparsed = 0

    def on_body(self, body: bytes) -> None:
        self._unparsed = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._reading, self._unparsed = ReadState.NOTHING, 0
        self._expect_within(None)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete:
            self._count.waits(self)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._expect_within(self._bounds.body_within)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._expect_within(None)

    def _parsed(self, size: int) -> None:
        self._head, self._unparsed = self._head + size, 0
        if self._head > LARGEST_HEAD:
            raise ValueError("a head that is too large")

    def _expect_within(self, seconds: float | None) -> None:
        """Set the time for what is to arrive now, in place of the one before; None: nothing has to."""
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self._too_slow)

    def _too_slow(self) -> None:
        if self.flow.write_paused:
            self.transport.abort()  # who asked does not read the answer
        elif self._reading is ReadState.NOTHING:
            self.transport.close()  # a connection that was opened for later, as browsers do
        else:
            part = "headers" if self._reading is ReadState.HEAD else "body"
            self._refuse(408, f"The {part} of the request did not arrive in time: send it at once.")

    def _refuse(self, status: int, detail: str) -> None:
        """Give up on what arrives, with a reason where nothing else is being answered."""
        self._expect_within(None)
        self._unset_keepalive_if_required()
        self._is_refused = True
        cycle = self.cycle
        is_own = self._reading is ReadState.BODY and not self.pipeline and not (cycle and cycle.response_started)
        if cycle is not None and not cycle.response_complete and not is_own:
            self.transport.abort()
            return
        if cycle is not None:
            cycle.disconnected = True  # what is still reading this request is told that nobody is there
            cycle.message_event.set()
        self._write(status, detail)
        # Closed at once, what is still on its way here would take the answer away from who reads it.
        self.flow.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._deadline = self.loop.call_later(LINGER, self.transport.abort)

    def _write(self, status: int, detail: str) -> None:
        response = self._bounds.refusal(status, detail)
        headers = [*self.server_state.default_headers, *response.raw_headers, (b"connection", b"close")]
        lines = b"".join(b"%s: %s\r\n" % header for header in headers)
        self.transport.write(b"%s%s\r\n%s" % (STATUS_LINE[status], lines, bytes(response.body)))


def bounded(
    bounds: Bounds, count: ConnectionCount, connection: type[BoundedConnection] = BoundedConnection
) -> type[asyncio.Protocol]:
    """Factory for uvicorn's `http`: it makes a connection with these bounds."""
    return cast("type[asyncio.Protocol]", partial(connection, bounds, count))
