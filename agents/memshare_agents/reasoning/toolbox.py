"""The toolbox of an agent: tools as operators that its file adds to those of the engine.

They are functions in the agents' folder, those of MCP servers, and SQL on a database. What a tool says of itself and of
the world is data. Of its own words only names that are plain reach the schema that a model fills in; its descriptions
stand in the document, where nothing is an instruction.
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import GenericAlias
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, NotRequired, TypeVar

import anyio
import httpx2
from pydantic import ConfigDict, Field, StringConstraints, create_model
from typing_extensions import TypedDict

from memshare_agents.reasoning.knowledge import ShortTermItem
from memshare_agents.reasoning.operator import Arguments, Context, Operator, OperatorResult
from memshare_agents.reasoning.tool_process import tables_of
from memshare_broker.child_processes import ask_child
from memshare_broker.errors import BadInput, GiveUp, MemshareError
from memshare_broker.observe.safe_text import masked, plain

if TYPE_CHECKING:
    from mcp import Client

MOST_SAID, MOST_DESCRIBED = 20_000, 800  # characters of what a tool gives, and of what is told of it
MOST_FIELDS, MOST_OPTIONS = 12, 20
_TOOL, _FIELD, _OPTION = (
    re.compile(one, re.ASCII) for one in (r"[A-Za-z][\w.-]{0,63}", r"[A-Za-z_]\w{0,63}", r"[\w .:/+-]{1,40}")
)
_SCALARS: Mapping[str, Any] = {
    "string": Annotated[str, StringConstraints(max_length=2_000)], "integer": int, "number": float, "boolean": bool
}  # fmt: skip
_typed_dict: Any = TypedDict  # whose fields no checker of types can know
SECONDS, WITHIN, MEMORY = 10.0, 20.0, 512 * 2**20  # of processor time, by the clock, and bytes: of a function's call
PROCESSES = 4
COMMAND = ("-m", "memshare_agents.reasoning.tool_process")


class ToolOffer(NamedTuple):
    """A tool as it describes itself: `schema` is the JSON schema of its arguments, with which `call` gives a text.

    `call` raises a `MemshareError` for what did not work.
    """

    name: str
    does: str
    schema: Mapping[str, Any]
    call: Callable[[Mapping[str, Any]], str]


def operator_of(tool: ToolOffer) -> Operator[Any]:
    """The operator that calls a tool; raises `BadInput` where its name or an argument that it needs fits no plan."""
    if not _TOOL.fullmatch(tool.name):
        raise BadInput(f"A tool has a name of a-z, 0-9, _, - and dots, not {tool.name[:80]!r}.")
    properties, needed = tool.schema.get("properties") or {}, tool.schema.get("required") or []
    if tool.schema.get("type") != "object" or not isinstance(properties, dict) or not isinstance(needed, list):
        raise BadInput(f"The tool {tool.name!r} takes arguments without names: give each a name.")
    fields: dict[str, Any] = {}
    told = [tool.does]
    for name, form in list(properties.items())[:MOST_FIELDS]:
        kind = _type_of(form) if _FIELD.fullmatch(name) else None
        if kind is not None:
            fields[name] = kind if name in needed else NotRequired[kind | None]
            told += [f"{name}: {form['description']}"] if form.get("description") else []
    if missing := [str(one)[:80] for one in needed if one not in list(fields)]:
        raise BadInput(f"The tool {tool.name!r} needs the argument {missing[0]!r}, of a kind that no plan holds.")
    given = _typed_dict(f"{tool.name}_input", fields)
    given.__pydantic_config__ = ConfigDict(extra="forbid")
    arguments = create_model(f"{tool.name}_arguments", __base__=Arguments, input=(given, ...))
    return Operator(tool.name, " ".join(plain(" ".join(told)).split())[:MOST_DESCRIBED], arguments, partial(_run, tool))


def left_out(tool: ToolOffer, operator: Operator[Any]) -> list[str]:
    """The arguments of a tool that no plan of its operator can name."""
    given: Any = operator.arguments.model_fields["input"].annotation
    return [str(name)[:80] for name in tool.schema.get("properties") or {} if name not in given.__annotations__]


def _run(tool: ToolOffer, arguments: Any, _context: Context) -> OperatorResult:
    given = {name: value for name, value in arguments.input.items() if value is not None}
    try:
        text = plain(tool.call(given)).strip()[:MOST_SAID] or "(It said nothing.)"
    except MemshareError as error:
        return OperatorResult(said=plain(f"Not done: {error}"), read=(tool.name,))
    found = ShortTermItem("tool", text, title=plain(f"{tool.name} {json.dumps(given, ensure_ascii=False)}"))
    return OperatorResult(said=text, read=(tool.name,), items=(found,))


def _type_of(form: Any) -> Any:
    """The type of an argument by its JSON schema; None for one that a plan does not hold, such as an object."""
    match form:
        case {"enum": [str(), *_] as options} if len(options) <= MOST_OPTIONS:
            plain_ones = all(isinstance(one, str) and _OPTION.fullmatch(one) for one in options)
            return Literal[tuple(options)] if plain_ones else None
        case {"type": "array", "items": {"type": str(kind)}} if kind in _SCALARS:
            many: Any = GenericAlias(list, (_SCALARS[kind],))
            return Annotated[many, Field(max_length=MOST_OPTIONS)]
        case {"type": str(kind)} if kind in _SCALARS:
            return _SCALARS[kind]
        case {"anyOf": [one, {"type": "null"}]}:
            return _type_of(one)
    return None


def function_tool(place: str) -> ToolOffer:
    """The tool of FILE.py:FUNCTION; raises `BadInput` where it cannot be imported or described."""
    file, _, function = place.rpartition(":")
    ask = partial(_ask, f"{Path(file).stem}:{function}", str(Path(file).parent))
    try:
        found = ask(b"")
    except GiveUp as error:
        raise BadInput(f"The tool {place!r} cannot be used: {error}") from error
    return ToolOffer(
        function, found["does"], found["schema"], lambda given: str(ask(json.dumps(given).encode())["said"])
    )


def sql_tool(database: str) -> ToolOffer:
    """The operator `sql` on a SQLite database; raises `BadInput` for a file that is none."""
    ask = partial(_ask, "memshare_agents.reasoning.tool_process:rows", str(Path(database).parent))
    form = {"type": "string", "description": "one SELECT of SQLite"}
    return ToolOffer(
        "sql",
        f"Reads rows of a database, whose tables are {tables_of(database)}.",
        {"type": "object", "properties": {"query": form}, "required": ["query"]},
        lambda given: str(ask(json.dumps({**given, "database": database}).encode())["said"]),
    )


def _ask(name: str, folder: str, data: bytes) -> dict[str, Any]:
    request = {"source": name, "function": name, "folder": folder, "seconds": SECONDS, "memory": MEMORY}
    return ask_child(COMMAND, PROCESSES, request, data, WITHIN, "refused")


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
            raise BadInput(f"Tools of {url} need more packages: pip install '.[serve]' where memshare was cloned.")
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
