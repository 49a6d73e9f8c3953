"""Makes methods of calls: what a call takes and answers is written once, for `Memory` and for `AsyncMemory`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from memshare.client.rest.call import Call
from memshare.client.rest.connection import AsyncConnection, Connection

P = ParamSpec("P")
R = TypeVar("R")


class HasConnection(Protocol):
    """What a blocking method is made for."""

    @property
    def _connection(self) -> Connection: ...


class HasAsyncConnection(Protocol):
    """What an asynchronous method is made for."""

    @property
    def _connection(self) -> AsyncConnection: ...


def blocking(build: Callable[P, Call[R]]) -> Callable[Concatenate[HasConnection, P], R]:
    """A method that makes a call and returns its reply."""

    def method(self: HasConnection, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._connection.ask(build(*args, **kwargs))

    _describe(method, build)
    return method


def asynchronous(build: Callable[P, Call[R]]) -> Callable[Concatenate[HasAsyncConnection, P], Coroutine[Any, Any, R]]:
    """A method that makes a call and returns its reply once it is there."""

    async def method(self: HasAsyncConnection, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._connection.ask(build(*args, **kwargs))

    _describe(method, build)
    return method


def _describe(method: Any, build: Callable[..., Any]) -> None:
    """Give a method the name, documentation and parameters of its call, which `help` shows."""
    functools.update_wrapper(method, build)
    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    signature = inspect.signature(build)
    parameters = [itself, *signature.parameters.values()]
    method.__signature__ = signature.replace(parameters=parameters)
