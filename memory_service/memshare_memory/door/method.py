"""A method of the door: what it takes and gives, known to the server and to the client."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, Generic, Protocol, TypeVar, overload

from pydantic import TypeAdapter

LARGEST_BODY = 64 * 2**20  # bytes

Request = TypeVar("Request")
Reply = TypeVar("Reply")


class Asks(Protocol):
    """Whoever has methods: it asks the memory service by them."""

    def ask(self, method: DoorMethod[Request, Reply], request: Request) -> Reply: ...


class DoorMethod(Generic[Request, Reply]):
    """A method of the memory service: POST /NAME with JSON, answered with JSON.

    It is declared as an attribute of `MemoryClient`, and is called as a method of it with the request.
    """

    name: str

    def __init__(
        self,
        request: Any,
        reply: Any,
        *,
        reads: bool = True,
        seconds: float = 30.0,
        joined: type[list[Any]] | type[dict[Any, Any]] | None = None,
    ) -> None:
        """`request` and `reply` are types, such as `list[UUID]`.

        One that only `reads` may be asked again when the connection breaks; a client waits for so many `seconds`. A
        request of any length goes in parts where it is said to what the replies are `joined`.
        """
        self._types = request, reply
        self.reads, self.seconds, self.joined = reads, seconds, joined

    def __set_name__(self, _owner: type, name: str) -> None:
        self.name = name.removeprefix("_")

    @overload
    def __get__(self, one: None, _owner: type) -> DoorMethod[Request, Reply]: ...
    @overload
    def __get__(self, one: Asks, _owner: type) -> Callable[[Request], Reply]: ...
    def __get__(self, one: Asks | None, _owner: type) -> DoorMethod[Request, Reply] | Callable[[Request], Reply]:
        return self if one is None else partial(one.ask, self)

    @cached_property
    def takes(self) -> TypeAdapter[Request]:
        return TypeAdapter(self._types[0])

    @cached_property
    def gives(self) -> TypeAdapter[Reply]:
        return TypeAdapter(self._types[1])
