"""A call of `memshare serve`: a line of the table, and the request that a program makes by it."""

from __future__ import annotations

import inspect
import json
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from itertools import count
from typing import Any, Generic, Literal, TypeVar, cast
from urllib.parse import quote, urlencode
from uuid import uuid4

from memshare.client.errors import STATUSES, NotFound
from memshare_broker.errors import BadInput, MemshareError, TryAgain, Unreachable

Reply = TypeVar("Reply")
Verb = Literal["DELETE", "GET", "PATCH", "POST"]

FIRST_WAIT, LONGEST_WAIT = 0.2, 30.0  # seconds between two tries
BUSY = (429, 502, 503, 504)

_numbers = count()


@dataclass(frozen=True, eq=False)
class Call(Generic[Reply]):
    """A line of the table of calls. Routes, both clients and the documentation are made of it.

    `declared` is a method without a body: its parameters are what is asked, its annotation is the reply, and the first
    paragraph of its documentation is that of the route. A parameter that the path does not name is a field of the body,
    or of the query where there is no body.
    """

    name: str
    """Of the operation in OpenAPI."""
    verb: Verb
    path: str
    declared: Callable[..., Reply]
    status: int = 200
    """Of an answer that is no problem."""
    tag: str = ""
    """The heading in the documentation, if it is not the name of the file."""
    repeatable: bool = True
    """True if making the call twice does no more than making it once."""
    if_match: str | None = None
    """The parameter that is sent as the header If-Match."""
    accept: str = "application/json"
    silence: float = 0.0
    """Seconds between two words of the server at most, where the answer is a stream."""
    number: int = field(default_factory=_numbers.__next__)

    @property
    def heading(self) -> str:
        return self.tag or self.declared.__module__.rpartition(".")[2].replace("_", " ")

    @property
    def does(self) -> str:
        """Its description, in a paragraph."""
        return (inspect.getdoc(self.declared) or "").partition("\n\n")[0]

    @cached_property
    def reply(self) -> Any:
        """The type of the reply; it is imported with the first one, for models cost more than the rest of a client."""
        replies, helps = (vars(import_module(f"memshare.client.{name}")) for name in ("replies", "help_replies"))
        names = replies | helps | self.declared.__globals__
        return eval(self.declared.__annotations__["return"], names)

    @cached_property
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.declared)

    @cached_property
    def _in_path(self) -> list[str]:
        return re.findall(r"{(\w+)}", self.path)

    def request(self, *args: Any, **kwargs: Any) -> Request[Reply]:
        """The request that these arguments make; what is None is left out."""
        try:
            bound = self.signature.bind(None, *args, **kwargs)  # None stands for self
        except TypeError as error:
            _, *takes = (one.replace(annotation=one.empty) for one in self.signature.parameters.values())
            form = f"{self.declared.__name__}{inspect.Signature(takes)}"
            raise TypeError(f"{form}: {error}. What stands after * is given by its name.") from None
        bound.apply_defaults()
        asked = dict(list(bound.arguments.items())[1:])
        asked |= asked.pop("conditions", {})
        if "idempotency_key" in asked and asked["idempotency_key"] is None:
            asked["idempotency_key"] = uuid4().hex  # so that it is done once, however often it is sent
        named = {name: _part_of_path(name, str(asked.pop(name))) for name in self._in_path}
        headers = {"Accept": self.accept}
        if self.if_match is not None:
            headers["If-Match"] = f'"{asked.pop(self.if_match)}"'
        given = {name: _plain(value) for name, value in asked.items() if value is not None}
        has_body = self.verb in ("PATCH", "POST") and asked
        query = "" if has_body or not given else f"?{urlencode(given, doseq=True)}"
        return Request(
            self,
            self.path.format(**named) + query,
            given if has_body else None,
            headers,
            waits=given.get("wait", self.silence),
        )


def _part_of_path(name: str, value: str) -> str:
    what = name.removesuffix("_id").replace("_", " ")
    if not value.strip("."):
        raise BadInput(f"Expected the id or the name of a {what}, found {value!r}.")
    if "/" in value and name != "pool":  # the rest would be taken for the path of another call
        raise NotFound(f"There is no {what} {value!r} that can be asked for: there is a slash in it.")
    return quote(value, safe="")


def _plain(value: Any) -> Any:
    return {str(name): one for name, one in value.items()} if isinstance(value, Mapping) else value


@dataclass(frozen=True)
class Request(Generic[Reply]):
    """A request by a call."""

    call: Call[Reply]
    target: str
    """The path with its query."""
    body: Mapping[str, Any] | None
    headers: Mapping[str, str]
    waits: float
    """Seconds for which the server may wait before it answers."""


@dataclass(frozen=True)
class HttpResponse:
    """A response; `wait` is the number of seconds that the server asked for."""

    status: int
    body: bytes
    wait: float | None = None


@dataclass(frozen=True)
class NoResponse:
    """Nothing came back. Unless `sent`, the server has not seen the request."""

    error: Exception
    sent: bool


def wait_before(call: Call[Any], answer: HttpResponse | NoResponse, tried: int, tries: int) -> float | None:
    """The seconds after which to make a call again; None for an answer that stands."""
    if isinstance(answer, NoResponse):
        again, asked = call.repeatable or not answer.sent, None
    else:
        again = answer.status in BUSY if call.repeatable else answer.status == 429
        asked = answer.wait
    if not again or tried >= tries or (asked or 0.0) > LONGEST_WAIT:
        return None
    return asked or min(FIRST_WAIT * 2 ** (tried - 1), LONGEST_WAIT) * random.uniform(0.5, 1.5)


ERRORS: dict[int, type[MemshareError]] = {status: kind for kind, status in STATUSES if status not in BUSY}


def read(call: Call[Reply], answer: HttpResponse | NoResponse, address: str) -> Reply:
    """The reply that an answer holds; raises what it refuses."""
    if isinstance(answer, NoResponse):
        raise Unreachable(
            f"Nothing answers at {address} ({answer.error or type(answer.error).__name__}). "
            "Start `memshare up` or `memshare serve` there, or name another address."
        ) from answer.error
    if answer.status >= 300:
        raise _refusal(answer, address)
    from pydantic import TypeAdapter, ValidationError  # the models cost more to import than the rest of the client

    try:
        # What a newer server says besides is left out.
        found: Any = TypeAdapter(call.reply).validate_json(answer.body, extra="ignore")
    except ValidationError as error:
        raise Unreachable(f"The server at {address} is not a `memshare serve` of this version.") from error
    return cast(Reply, found)


def _refusal(answer: HttpResponse, address: str) -> MemshareError:
    try:
        problem: Any = json.loads(answer.body)
        detail = str(problem["detail"])
    except (ValueError, KeyError, TypeError):
        return Unreachable(
            f"The server at {address} answered with status {answer.status}: it is not a `memshare serve`."
        )
    if answer.status in BUSY:
        return TryAgain(detail, wait=answer.wait)
    return ERRORS.get(answer.status, BadInput if answer.status < 500 else MemshareError)(detail)
