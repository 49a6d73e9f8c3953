"""The table of operations: which call each answers, and which are tools for models."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from types import new_class
from typing import Annotated, Any, Literal, Protocol, TypeVar, cast

from pydantic import ConfigDict, Field, JsonValue

from memshare import operations
from memshare.client.rest.call import Call
from memshare.operations import forms
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller, Right
from memshare_broker.wire.forms import checked
from memshare_broker.wire.messages import Message

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
R = TypeVar("R")


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
    """A function that a model may call, with its description; one of its `rights` is what a token needs for it."""

    call: Call[Any]
    name: str
    title: str
    rights: tuple[Right, ...]
    hints: Hints
    function: Callable[..., Any]


SERVED: dict[Call[Any], Callable[..., Any]] = {}
TOOLS: list[Tool] = []
BODIES: dict[Callable[..., Any], tuple[Call[Any], str, ConfigDict]] = {}
"""Function → its call, and the name (if it has one) and the configuration of the body of such a request."""


def serves(
    method: Declared,
    body: str = "",
    *,
    right: Right | Literal["everything"] | None = None,
    decides: bool = False,
    **example: JsonValue,
) -> Callable[[F], F]:
    """Let a function answer a call; `backend` and `caller` are its first parameters, the others are asked.

    Whoever lacks the `right` is refused, at every face: "everything" is all rights in all pools; without one the
    function looks itself. That it `decides` on something that needs a person is noted. With a name of a `body`, the
    parameters that the path does not name are its fields; `example` is one for the documentation.
    """

    def add(function: F) -> F:
        served = function if right is None and not decides else cast(F, _allowed(function, right, decides))
        SERVED[method.call] = served
        BODIES[served] = method.call, body, forms.example(**example) if example else ConfigDict()
        return served

    return add


def _allowed(
    function: Callable[..., R], right: Right | Literal["everything"] | None, decides: bool
) -> Callable[..., R]:
    @functools.wraps(function)
    def allowed(backend: Backend, caller: Caller, *args: Any, **kwargs: Any) -> R:
        if right is not None:
            caller.require_all() if right == "everything" else caller.require(right)
        done = function(backend, caller, *args, **kwargs)
        if decides:
            note_decided(backend)
        return done

    return allowed


_DECIDED = "memshare:decided"


def note_decided(backend: Backend) -> None:
    """Note that somebody has decided on something that needs a person."""
    with backend.reaching():
        backend.redis.set(_DECIDED, 1)


def has_decided(backend: Backend) -> bool:
    """True once somebody has decided on something that needs a person."""
    with backend.reaching():
        return bool(backend.redis.exists(_DECIDED))


@functools.cache
def form_of(function: Callable[..., Any]) -> type[Message]:
    """The form of what a function is asked beside what the path names, made of its parameters."""
    call, name, config = BODIES[function]
    asked = list(inspect.signature(function, eval_str=True).parameters.values())[2:]
    fields = [one for one in asked if one.name != call.if_match and f"{{{one.name}}}" not in call.path]
    body: dict[str, Any] = {one.name: one.default for one in fields if one.default is not one.empty}
    body["__annotations__"] = {one.name: one.annotation for one in fields}
    body |= {"__module__": function.__module__, "__doc__": call.does, "model_config": config}
    return cast(type[Message], new_class(name, (Message,), exec_body=lambda made: made.update(body)))


def ask(what: str, function: Callable[..., R], backend: Backend, caller: Caller, *at: object, **fields: Any) -> R:
    """The reply to a request with these fields, `at` what its path names.

    Raises `BadInput` that says `what` was given, and which field does not fit.
    """
    return function(backend, caller, *at, **dict(checked(form_of(function), what, **fields)))


def tool(method: Declared, name: str, title: str, right: Right, hints: Hints, *others: Right) -> Callable[[F], F]:
    """Let a function be the tool of a call; its documentation and its parameters describe it to a model.

    It takes the `right`, or one of the `others`.
    """

    def add(function: F) -> F:
        TOOLS.append(Tool(method.call, name, title, (right, *others), hints, function))
        return function

    return add
