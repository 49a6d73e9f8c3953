"""Sends the calls of `memshare serve`, blocking or asynchronously: a method of each, declared once for both clients."""

from __future__ import annotations

import asyncio
import functools
import json
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, cast, overload

import httpcore2

from memshare.client.rest.call import Call, HttpResponse, NoResponse, Reply, Request, Verb, read, wait_before
from memshare_broker.errors import BadInput

NETWORK = (httpcore2.NetworkError, httpcore2.TimeoutException, httpcore2.ProtocolError)
UNSENT = (httpcore2.ConnectError, httpcore2.ConnectTimeout, httpcore2.PoolTimeout)
CONNECT_WITHIN = 5.0  # seconds
KEEP_IDLE = 30.0  # seconds
CONNECTIONS = 64


@dataclass(frozen=True)
class Server:
    """Where to ask, as whom, for how long (seconds), and how often at most."""

    url: str
    token: str | None
    timeout: float
    tries: int

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise BadInput(f"Expected an address such as http://127.0.0.1:8780, found {self.url!r}.")

        if self.token is not None and not self.token.isascii():
            raise BadInput("Expected a token as `memshare token create` printed it, found other characters in it.")

    def sent(self, request: Request[Any]) -> dict[str, Any]:
        """The arguments for httpcore2."""
        headers = dict(request.headers)
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        content = None
        if request.body is not None:
            headers["Content-Type"] = "application/json"
            content = _encoded(request.body)
        patience = self.timeout + request.waits
        limits = {"connect": CONNECT_WITHIN, "read": patience, "write": self.timeout, "pool": patience}
        return {
            "method": request.call.verb,
            "url": self.url.rstrip("/") + request.target,
            "headers": headers,
            "content": content,
            "extensions": {"timeout": limits},
        }


class BlockingConnection:
    """A blocking connection. Safe to share between threads."""

    def __init__(self, place: Server) -> None:
        self.place = place
        self.pool = httpcore2.ConnectionPool(max_connections=CONNECTIONS, keepalive_expiry=KEEP_IDLE)

    def ask(self, request: Request[Reply]) -> Reply:
        """The reply to a request; raises `MemshareError`."""
        call, sent = request.call, self.place.sent(request)
        tried = 0
        while True:
            answer: HttpResponse | NoResponse
            try:
                answer = answer_of(self.pool.request(**sent))
            except NETWORK as error:
                answer = silence_of(error)
            tried += 1
            wait = wait_before(call, answer, tried, self.place.tries)
            if wait is None:
                return read(call, answer, self.place.url)
            time.sleep(wait)

    def close(self) -> None:
        self.pool.close()


class AsyncConnection:
    """The same for asyncio; of one event loop."""

    def __init__(self, place: Server) -> None:
        self.place = place
        self.pool = httpcore2.AsyncConnectionPool(max_connections=CONNECTIONS, keepalive_expiry=KEEP_IDLE)

    async def ask(self, request: Request[Reply]) -> Reply:
        """The reply to a request; raises `MemshareError`."""
        call, sent = request.call, self.place.sent(request)
        tried = 0
        while True:
            answer: HttpResponse | NoResponse
            try:
                answer = answer_of(await self.pool.request(**sent))
            except NETWORK as error:
                answer = silence_of(error)
            tried += 1
            wait = wait_before(call, answer, tried, self.place.tries)
            if wait is None:
                return read(call, answer, self.place.url)
            await asyncio.sleep(wait)

    async def close(self) -> None:
        await self.pool.aclose()


def _encoded(body: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False, default=str).encode()
    except UnicodeEncodeError as error:
        found = error.object[error.start]
        raise BadInput(
            f"The request holds half a character, {found!r} (a surrogate alone), which is no text."
        ) from error
    except ValueError as error:
        raise BadInput(f"The request cannot be sent: {error}.") from error


def answer_of(response: httpcore2.Response) -> HttpResponse:
    """The content of a response that was read."""
    wait = dict(response.headers).get(b"retry-after", b"")
    return HttpResponse(response.status, response.content, float(wait) if wait.isdigit() else None)


def silence_of(error: Exception) -> NoResponse:
    """The record of a failed connection."""
    return NoResponse(error, sent=not isinstance(error, UNSENT))


OVER = NoResponse(EOFError("the stream of events ended before the journey"), sent=True)


class HasEnd(Protocol):
    """Something that can be followed: it changes until it has ended."""

    @property
    def ended(self) -> bool: ...


State = TypeVar("State", bound=HasEnd)


class _Follower(Generic[State]):
    """State of a followed journey: its news, and when to connect again."""

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
        for line in (one.removesuffix(b"\r") for one in lines):
            if line:
                name, _, value = line.partition(b":")
                if name == b"data":
                    self._data.append(value.removeprefix(b" "))
            elif self._data:
                yield b"\n".join(self._data)
                self._data.clear()


P = ParamSpec("P")
R = TypeVar("R")
Asked = TypeVar("Asked", BlockingConnection, AsyncConnection)

SILENCE = 15.0  # seconds between two words of a stream at most; `timeout` more, and it counts as broken


class Calls(Generic[Asked]):
    """Some calls of `memshare serve` as methods; over an `AsyncConnection` each is awaited."""

    def __init__(self, connection: Asked) -> None:
        self._connection: Asked = connection


class Method(Protocol[P, R]):
    """A call of which a method is made: it returns the reply, or what is awaited for it."""

    call: Call[R]

    @overload
    def __get__(self, of: Calls[BlockingConnection], kind: Any) -> Callable[P, R]: ...
    @overload
    def __get__(self, of: Calls[AsyncConnection], kind: Any) -> Callable[P, Coroutine[Any, Any, R]]: ...
    @overload
    def __get__(self, of: None, kind: Any) -> Method[P, R]: ...


class Stream(Protocol[P, R]):
    """A call that is answered by a stream: its method returns what is looped over."""

    call: Call[R]

    @overload
    def __get__(self, of: Calls[BlockingConnection], kind: Any) -> Callable[P, Iterator[R]]: ...
    @overload
    def __get__(self, of: Calls[AsyncConnection], kind: Any) -> Callable[P, AsyncIterator[R]]: ...
    @overload
    def __get__(self, of: None, kind: Any) -> Stream[P, R]: ...


def call(name: str, verb: Verb, path: str, **more: Any) -> Callable[[Callable[Concatenate[Any, P], R]], Method[P, R]]:
    """Make a call, and a method that makes it, of a declaration. `more` are other fields of `Call`."""

    def declared(function: Callable[Concatenate[Any, P], R]) -> Method[P, R]:
        line = Call(name, verb, path, function, **more)
        return cast(Method[P, R], _method(line, lambda connection, request: connection.ask(request)))

    return declared


def stream(name: str, path: str) -> Callable[[Callable[Concatenate[Any, P], State]], Stream[P, State]]:
    """The same for a call whose answer is a stream of what it is declared to return."""

    def declared(function: Callable[Concatenate[Any, P], State]) -> Stream[P, State]:
        line = Call(name, "GET", path, function, accept="text/event-stream", silence=SILENCE)
        return cast(Stream[P, State], _method(line, follow_either))

    return declared


class _Group:
    """Makes a group of calls when it is first asked for."""

    def __init__(self, place: str) -> None:
        self._place = place

    def __set_name__(self, _: Any, name: str) -> None:
        self._name = name

    def __get__(self, of: Calls[Any] | None, _: Any) -> Any:
        if of is None:
            return self
        module, _, kind = self._place.partition(":")
        made = getattr(import_module(f"memshare.client.rest.calls.{module}"), kind)(of._connection)
        vars(of)[self._name] = made
        return made


def group(place: str) -> Any:
    """A group of calls, given as `module:class`. It is imported at its first use: its replies cost."""
    return _Group(place)


def _method(line: Call[Any], ask: Callable[[Any, Request[Any]], Any]) -> Any:
    @functools.wraps(line.declared)
    def method(self: Calls[Any], *args: Any, **kwargs: Any) -> Any:
        return ask(self._connection, line.request(*args, **kwargs))

    method.call = line  # type: ignore[attr-defined]
    return method
