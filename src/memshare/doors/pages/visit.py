"""A person's request to a page: who asks, for what, and the filled-in fields; and the answer to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar
from uuid import UUID

from starlette.datastructures import ImmutableMultiDict

from memshare.client.replies import PoolReply
from memshare.client.rest.calls.operating import JobReply
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller
from memshare.operations.jobs import jobs
from memshare.operations.listings import pools
from memshare.operations.serving import ask
from memshare_broker.errors import BadInput, TryAgain

R = TypeVar("R")
Fields = ImmutableMultiDict[str, str]


def local(path: str) -> str:
    """The path if it is one of this site, which no browser takes for another host; else nothing."""
    return path if path.startswith("/") and not path.startswith(("//", "/\\")) else ""


@dataclass(frozen=True)
class Visit:
    """A request to a page. `path` are the parts of its URL that stand for something, `fields` its form and
    its query."""

    backend: Backend
    caller: Caller
    path: Mapping[str, str]
    fields: Fields

    def ask(self, what: str, operation: Callable[..., R], *at: object, **fields: Any) -> R:
        """The reply to a request with these fields; raises `BadInput` that says what does not fit."""
        return ask(what, operation, self.backend, self.caller, *at, **fields)

    @cached_property
    def pools(self) -> list[PoolReply] | None:
        """The caller's pools; None while the memory service is away, as every page says then."""
        try:
            return pools(self.backend, self.caller)
        except TryAgain:
            return None

    @cached_property
    def jobs(self) -> list[JobReply]:
        """The last jobs; none for who may not begin any."""
        return jobs(self.backend, self.caller) if self.caller.may("admin") else []

    def field(self, name: str) -> str:
        """The text of a field, without white space around it."""
        return self.fields.get(name, "").strip()

    def ids(self, name: str) -> list[UUID]:
        """The ids that a field names, with commas between, or several fields; raises `BadInput`."""
        named = [one for text in self.fields.getlist(name) for one in text.split(",") if one]
        try:
            return [UUID(one) for one in named]
        except ValueError as error:
            raise BadInput(f"The field {name!r} names ids, not {named!r}: go back, and try again.") from error

    def id(self, name: str) -> UUID:
        """The only one of them."""
        found = self.ids(name)
        if len(found) != 1:
            raise BadInput(f"The field {name!r} names one id, not {len(found)}: go back, and try again.")
        return found[0]

    @property
    def back(self) -> str:
        """The page that a form goes back to, if it names one of ours; else nothing."""
        return local(self.field("back"))

    def given(self, *names: str) -> dict[str, str]:
        """The fields of these names that are not empty."""
        return {name: text for name in names if (text := self.field(name))}


@dataclass(frozen=True)
class Screen:
    """A page to show: its template, and the values for it.

    `watches` is the journey whose changes it follows, and `seen` the state in which it shows that.
    """

    template: str
    values: Mapping[str, Any]
    watches: str = ""
    seen: str = ""
    status: int = 200


@dataclass(frozen=True)
class Done:
    """Result of a form, as a sentence for the next page, which is `to`; `undo` is where a POST takes it back."""

    to: str
    said: str = ""
    undo: str = ""


@dataclass(frozen=True)
class Streamed:
    """A reply sent line by line; the first line is made before anything is sent, for what may go wrong.

    `name` is that of the file as which a browser keeps it; without one it is shown.
    """

    lines: Iterator[str]
    media_type: str
    name: str = ""


Shows = Callable[[Visit], Screen | Streamed]
Does = Callable[[Visit], Done | Screen]
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Pages:
    """The screens by path, and what forms do by path."""

    shown: dict[str, Shows] = field(default_factory=dict)
    done: dict[str, Does] = field(default_factory=dict)

    def screen(self, path: str) -> Callable[[F], F]:
        """Let a function show the page at a path."""
        return self._add(self.shown, path)

    def action(self, path: str) -> Callable[[F], F]:
        """Let a function do what a form at a path is sent for."""
        return self._add(self.done, path)

    @staticmethod
    def _add(to: dict[str, Any], path: str) -> Callable[[F], F]:
        def add(function: F) -> F:
            to[path] = function
            return function

        return add


PAGES = Pages()
