"""How many connections a server holds, in all and from one address, so that nobody keeps the others out."""

from __future__ import annotations

import logging
import resource
import time
from collections import Counter
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Protocol

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
