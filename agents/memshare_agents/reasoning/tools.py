"""Tools as operators: functions in the agents' folder, those of MCP servers, and SQL on a database.

What a tool says of itself and of the world is data. Of its own words only names that are plain reach the schema that a
model fills in; its descriptions stand in the document, where nothing is an instruction.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import GenericAlias
from typing import Annotated, Any, Literal, NamedTuple, NotRequired

from pydantic import ConfigDict, Field, StringConstraints, create_model
from typing_extensions import TypedDict

from memshare_agents.reasoning.operator import Arguments, Context, Operator, OperatorResult
from memshare_agents.reasoning.short_term import ShortTermItem
from memshare_agents.reasoning.tool_process import tables_of
from memshare_broker.child_processes import ask_child
from memshare_broker.errors import BadInput, GiveUp, MemshareError
from memshare_broker.observe.plain_text import plain

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
