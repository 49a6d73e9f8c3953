"""Follows a journey by its server-sent events, and connects anew where they break off."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import Generic, Protocol, TypeVar

from memshare.client.rest.answers import read
from memshare.client.rest.call import HttpResponse, NoResponse, Request, wait_before
from memshare.client.rest.connection import NETWORK, AsyncConnection, BlockingConnection, Server, answer_of, silence_of

OVER = NoResponse(EOFError("the stream of events ended before the journey"), sent=True)


class HasEnd(Protocol):
    """What is followed: it changes until it has ended."""

    @property
    def ended(self) -> bool: ...


State = TypeVar("State", bound=HasEnd)


class _Follower(Generic[State]):
    """What is known of a journey while it is followed: what is new of it, and when to connect again."""

    def __init__(self, request: Request[State], place: Server) -> None:
        self._call, self._place = request.call, place
        self._last: State | None = None
        self._failed = 0
        self.ended = False

    def news(self, stream: EventStream, piece: bytes) -> Iterator[State]:
        """The states that are not those of before: each new connection begins with the state of now."""
        for data in stream.feed(piece):
            journey = read(self._call, HttpResponse(200, data), self._place.url)
            self._failed = 0
            if journey != self._last:
                self._last, self.ended = journey, journey.ended
                yield journey

    def pause(self, found: HttpResponse | NoResponse) -> float:
        """The seconds after which to connect again; raises what was refused, or has failed too often in a row."""
        self._failed += 1
        wait = wait_before(self._call, found, self._failed, self._place.tries)
        if wait is None:
            read(self._call, found, self._place.url)
        return wait or 0.0


def follow(connection: BlockingConnection, request: Request[State]) -> Iterator[State]:
    """The journey at each of its changes, until it has ended."""
    follower, sent = _Follower(request, connection.place), connection.place.sent(request)
    while not follower.ended:
        found: HttpResponse | NoResponse = OVER
        try:
            with connection.pool.stream(**sent) as response:
                if response.status != 200:
                    response.read()
                    found = answer_of(response)
                else:
                    stream = EventStream()
                    for piece in response.iter_stream():
                        yield from follower.news(stream, piece)
        except NETWORK as error:
            found = silence_of(error)
        if not follower.ended:
            time.sleep(follower.pause(found))


async def follow_async(connection: AsyncConnection, request: Request[State]) -> AsyncIterator[State]:
    """The same for asyncio."""
    follower, sent = _Follower(request, connection.place), connection.place.sent(request)
    while not follower.ended:
        found: HttpResponse | NoResponse = OVER
        try:
            async with connection.pool.stream(**sent) as response:
                if response.status != 200:
                    await response.aread()
                    found = answer_of(response)
                else:
                    stream = EventStream()
                    async for piece in response.aiter_stream():
                        for journey in follower.news(stream, piece):
                            yield journey
        except NETWORK as error:
            found = silence_of(error)
        if not follower.ended:
            await asyncio.sleep(follower.pause(found))


def follow_either(
    connection: BlockingConnection | AsyncConnection, request: Request[State]
) -> Iterator[State] | AsyncIterator[State]:
    """The same for either connection."""
    if isinstance(connection, BlockingConnection):
        return follow(connection, request)
    return follow_async(connection, request)


class EventStream:
    """The events of one connection (the format of the HTML standard, section 9.2); only their data is kept."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The data of each event that this piece completes."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in map(_without_return, lines):
            if line:
                name, _, value = line.partition(b":")
                if name == b"data":
                    self._data.append(value.removeprefix(b" "))
            elif self._data:
                yield b"\n".join(self._data)
                self._data.clear()


def _without_return(line: bytes) -> bytes:
    return line.removesuffix(b"\r")
