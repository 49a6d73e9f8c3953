"""Makes a method of each call: what it takes and answers is declared once, for `Memory` and for `AsyncMemory`."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from importlib import import_module
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, cast, overload

from memshare.client.rest.call import Call, Request, Verb
from memshare.client.rest.connection import AsyncConnection, BlockingConnection
from memshare.client.rest.following import State, follow_either

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
