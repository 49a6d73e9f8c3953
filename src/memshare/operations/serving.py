"""The table of operations: which call each answers, and which are tools for models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated, Any, Protocol, TypeVar

from pydantic import Field

from memshare import operations
from memshare.client.rest.call import Call
from memshare.operations.caller import Right

FIRST = ("sharing", "journeys", "memories", "what there is")
"""The headings that come first; the others follow by name."""


def served() -> dict[Call[Any], Callable[..., Any]]:
    """Every call, in the order of the documentation, with the function that answers it."""
    _find()
    return dict(sorted(SERVED.items(), key=lambda one: _place(one[0])))


def tools() -> list[Tool]:
    """Every tool, in the same order."""
    _find()
    return sorted(TOOLS, key=lambda one: _place(one.call))


def _place(call: Call[Any]) -> tuple[int, str, int]:
    heading = call.heading
    return (FIRST.index(heading), "", call.number) if heading in FIRST else (len(FIRST), heading, call.number)


def _find() -> None:
    for module in iter_modules(operations.__path__, f"{operations.__name__}."):
        import_module(module.name)


F = TypeVar("F", bound=Callable[..., Any])


class Declared(Protocol):
    """A method of the client."""

    @property
    def call(self) -> Call[Any]: ...


Hints = dict[str, bool]
"""Properties of a tool that a model may know before it calls the tool."""

READS: Hints = {"read_only_hint": True, "open_world_hint": False}
ADDS: Hints = {"read_only_hint": False, "destructive_hint": False, "open_world_hint": False}
TELLS_ONCE: Hints = {**ADDS, "idempotent_hint": True}
DESTROYS: Hints = {**TELLS_ONCE, "destructive_hint": True}


Prompt = Annotated[str, Field(description="the task, as the user gave it")]
AgentName = Annotated[str | None, Field(description="an agent of memshare://agents; name it or a pool")]
PoolName = Annotated[str | None, Field(description="a pool of memshare://pools; name it or an agent")]
KindName = Annotated[str | None, Field(description="one of the agent's kinds of tasks")]
"""Parameters of several tools, described to a model."""


@dataclass(frozen=True)
class Tool:
    """A function that a model may call, with its description; `right` is what a token needs for it."""

    call: Call[Any]
    name: str
    title: str
    right: Right
    hints: Hints
    function: Callable[..., Any]


SERVED: dict[Call[Any], Callable[..., Any]] = {}
TOOLS: list[Tool] = []


def serves(method: Declared) -> Callable[[F], F]:
    """Let a function answer a call; `backend` and `caller` are its first parameters, the others are asked."""

    def add(function: F) -> F:
        SERVED[method.call] = function
        return function

    return add


def tool(method: Declared, name: str, title: str, right: Right, hints: Hints) -> Callable[[F], F]:
    """Let a function be the tool of a call; its documentation and its parameters describe it to a model."""

    def add(function: F) -> F:
        TOOLS.append(Tool(method.call, name, title, right, hints, function))
        return function

    return add
