"""The toolbox of an agent: the operators that its file adds to those of the engine, some of them on MCP servers."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import httpx2

from memshare_agents.reasoning.operator import Operator
from memshare_agents.reasoning.tools import ToolOffer, function_tool, left_out, operator_of, sql_tool
from memshare_broker.errors import BadInput, GiveUp
from memshare_broker.observe.masking import masked

if TYPE_CHECKING:
    from mcp import Client

T = TypeVar("T")

log = logging.getLogger(__name__)

LISTED_FOR, AWAY_FOR = 600.0, 30.0  # seconds until a server is asked for its tools again, after an answer or without
MOST_LISTED, MOST_BYTES = 20, 1_000_000  # tools of a server, and bytes of one reply
LONGEST_ERROR = 300  # characters
PLAIN = {"Accept-Encoding": "identity"}


class McpServer:
    """The tools at an address, each call on a connection of its own and within so many seconds."""

    def __init__(self, url: str, seconds: float) -> None:
        """Raises `BadInput` where the package that speaks the protocol is not installed."""
        if find_spec("mcp") is None:
            raise BadInput(f"Tools of {url} need more packages: pip install 'memshare[serve]'.")
        self.url = url
        self._seconds = seconds
        self._offers: tuple[ToolOffer, ...] = ()
        self._failed = ""
        self._ask_after = 0.0

    def offers(self) -> tuple[Sequence[ToolOffer], str]:
        """Its tools as it last listed them, and why not all, or not just now, or nothing."""
        if time.monotonic() >= self._ask_after:
            try:
                listed = self._ask(lambda client: client.list_tools())
                self._offers = tuple(
                    ToolOffer(one.name, one.description or "", one.input_schema, partial(self._call, one.name))
                    for one in listed.tools[:MOST_LISTED]
                )
                many, self._ask_after = len(listed.tools), time.monotonic() + LISTED_FOR
                self._failed = f"Of its {many} tools the first {MOST_LISTED} count." if many > MOST_LISTED else ""
            except GiveUp as error:
                self._failed, self._ask_after = f"Its tools were not listed: {error}", time.monotonic() + AWAY_FOR
                log.warning("%s", self._failed)
        return self._offers, self._failed

    def _call(self, name: str, arguments: Mapping[str, Any]) -> str:
        result = self._ask(lambda client: client.call_tool(name, dict(arguments)))
        said = "\n".join(one.text if one.type == "text" else f"({one.type}: left out)" for one in result.content)
        if result.is_error:
            raise GiveUp(f"{name} says: {said[:LONGEST_ERROR]}")
        return said

    def _ask(self, what: Callable[[Client], Awaitable[T]]) -> T:
        """Raises `GiveUp` with the reason whatever the server does: a step does not wait for it."""
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client

        async def within() -> T:
            with anyio.fail_after(self._seconds):
                async with (
                    httpx2.AsyncClient(
                        timeout=self._seconds, event_hooks={"response": [_bound]}, headers=PLAIN
                    ) as http,
                    Client(streamable_http_client(self.url, http_client=http), cache=None) as client,
                ):
                    return await what(client)

        try:
            return anyio.run(within)
        except TimeoutError as error:
            raise GiveUp(f"{self.url} did not answer within {self._seconds:g} s.") from error
        except Exception as error:
            cause: BaseException = error
            while isinstance(cause, BaseExceptionGroup):
                cause = cause.exceptions[0]
            words = masked(str(cause))[:LONGEST_ERROR] or type(cause).__name__
            raise GiveUp(f"{self.url} cannot be used: {words}") from error


async def _bound(response: httpx2.Response) -> None:
    """Let no reply be longer than allowed, as it comes or unpacked."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise GiveUp("The reply is packed, which was not asked for.")
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _BoundedBody(response.stream)


class _BoundedBody(httpx2.AsyncByteStream):
    def __init__(self, body: httpx2.AsyncByteStream) -> None:
        self._body = body
        self.aclose = body.aclose  # type: ignore[method-assign]

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._body:
            size += len(part)
            if size > MOST_BYTES:
                raise GiveUp(f"The reply is longer than {MOST_BYTES:,} bytes.")
            yield part


class Toolbox:
    """Operators by name. Safe to use from many threads."""

    def __init__(
        self, own: Sequence[ToolOffer] = (), servers: Sequence[McpServer] = (), taken: Iterable[str] = ()
    ) -> None:
        """`taken` are names of other operators. Raises `BadInput` for one of `own` that cannot be an operator."""
        self._servers = servers
        self._taken = frozenset(taken)
        self._own: dict[str, Operator[Any]] = {}
        self._notes = [note for one in own for note in self._add(self._own, one)]

    def operators(self) -> tuple[dict[str, Operator[Any]], tuple[str, ...]]:
        """The operators by name, and sentences on what could not be listed, and on what fits no plan."""
        found, notes = dict(self._own), [*self._notes]
        for server in self._servers:
            offers, failed = server.offers()
            notes += [failed] if failed else []
            for one in offers:
                try:
                    notes += self._add(found, one)
                except BadInput as error:
                    notes.append(f"A tool was left out: {error}")
        return found, tuple(notes)

    def _add(self, found: dict[str, Operator[Any]], tool: ToolOffer) -> list[str]:
        if tool.name in self._taken | found.keys():
            raise BadInput(f"No tool can be called {tool.name!r}: an operator is. Give it another name.")
        found[tool.name] = operator_of(tool)
        names = ", ".join(map(repr, left_out(tool, found[tool.name])))
        return [f"The tool {tool.name!r} was offered without arguments that fit no plan: {names}."] if names else []


def open_toolbox(tools: Sequence[str], database: str | None, seconds: float, taken: Iterable[str]) -> Toolbox:
    """The tools of an agent's file: addresses of MCP servers, which get `seconds` a call, and FILE.py:FUNCTION.

    Raises `BadInput` for a function or a database that cannot be used.
    """
    servers = [McpServer(one, seconds) for one in tools if "://" in one]
    own = [function_tool(one) for one in tools if "://" not in one]
    return Toolbox([*own, *([sql_tool(database)] if database else [])], servers, taken)
