"""What a model is told of the tools: those that its token may use, in schemas that every client takes."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.server.caching import CACHEABLE_METHODS
from mcp_types import CLIENT_CAPABILITIES_META_KEY, PROTOCOL_VERSION_META_KEY

from memshare.client.errors import NoToken
from memshare.doors.mcp_server import mcp_server
from memshare.operations.backend import Backend
from memshare.operations.caller import RIGHTS, Caller, Right, local_caller
from memshare.operations.serving import tools
from tests.support.deployment import ROOT
from tests.support.served import served
from tests.unit.memshare.doors.mcp_door.conftest import Connect

NOBODY = "00000000-0000-0000-0000-000000000000"
GIVEN = {"prompt": "x", "text": "x", "answer": "y", "agent": "logic", "reward": 1, "memory_id": NOBODY}
"""What each argument that a tool cannot do without may be."""
ALTERNATIVES = {"anyOf", "oneOf", "allOf", "$ref"}


def told(backend: Backend, caller: Caller) -> dict[str, Any]:
    """The tools that a caller is told of, by name."""

    async def ask() -> dict[str, Any]:
        async with Client(mcp_server(backend, lambda: caller)) as client:
            return {tool.name: tool for tool in (await client.list_tools()).tools}

    return asyncio.run(ask())


def said(backend: Backend, caller: Caller, tool: str, arguments: dict[str, Any]) -> str:
    """What a tool answers, or why it does not."""

    async def ask() -> str:
        async with Client(mcp_server(backend, lambda: caller)) as client:
            return str((await client.call_tool(tool, arguments)).content[0].text)  # type: ignore[union-attr]

    return asyncio.run(ask())


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Every object in a schema."""
    if isinstance(schema, dict):
        yield schema
    for one in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from parts(one)


def test_no_schema_of_a_tool_has_alternatives_or_null(backend: Backend) -> None:
    schemas = {name: tool.input_schema for name, tool in told(backend, local_caller()).items()}

    assert schemas.keys() == {tool.name for tool in tools()}
    for name, schema in schemas.items():
        found = list(parts(schema))
        assert len(found) > len(schema["properties"]), name
        assert not [one for one in found if ALTERNATIVES & one.keys()], name
        assert not [one for one in found if isinstance(one.get("type"), list) or one.get("type") == "null"], name
        assert None not in [value for one in found for value in one.values()], name
    assert {"type": "string", "format": "uuid"}.items() <= schemas["feedback"]["properties"]["recall_id"].items()
    assert schemas["recall"]["properties"]["agent"]["description"]


@pytest.mark.parametrize("tool", tools(), ids=lambda tool: tool.name)
def test_an_optional_argument_that_is_null_is_as_one_that_is_left_out(tool: Any, backend: Backend) -> None:
    schema = told(backend, local_caller())[tool.name].input_schema
    needed = {name: GIVEN[name] for name in schema.get("required", ())}
    optional = schema["properties"].keys() - needed.keys()
    short = {"wait": 0} if "wait" in optional else {}

    without = said(backend, local_caller(), tool.name, needed | short)
    with_null = said(backend, local_caller(), tool.name, needed | dict.fromkeys(optional) | short)

    assert re.sub(r"[0-9a-f-]{36}", "", with_null) == re.sub(r"[0-9a-f-]{36}", "", without)
    for name in needed:
        assert repr(name) in said(backend, local_caller(), tool.name, needed | {name: None})


def test_a_token_is_told_of_the_tools_that_it_may_use_and_of_no_other(backend: Backend) -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\w+(?: or \w+)*) \|", (ROOT / "docs" / "doors.md").read_text("utf-8"), re.M)
    documented = {name: rights.split(" or ") for name, rights in rows}
    of_right: dict[str, set[Right]] = {}
    for right in RIGHTS:
        caller = Caller("ada", frozenset({right}), frozenset({"logic"}))
        listed = told(backend, caller)
        for tool in tools():
            schema = told(backend, local_caller())[tool.name].input_schema
            needed = {name: GIVEN[name] for name in schema.get("required", ())}
            answer = said(backend, caller, tool.name, needed | ({"wait": 0} if tool.name == "ask_agent" else {}))
            refusal = (
                f"The token 'ada' may not do this: it takes the right {' or '.join(map(repr, documented[tool.name]))}."
            )
            assert (answer == refusal) == (tool.name not in listed), (right, tool.name, answer)
            if tool.name in listed:
                of_right.setdefault(tool.name, set()).add(right)
    assert of_right == {name: {*rights, "admin"} for name, rights in documented.items()}


def test_a_token_is_told_of_its_tools_over_every_transport(connect: Connect, backend: Backend) -> None:
    token = backend.tokens.create("ada", ("recall", "offer"), ("logic",))

    async def ask() -> set[str]:
        async with connect(token) as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    assert asyncio.run(ask()) == {"recall", "search_memories", "offer", "feedback"}


def test_an_argument_that_a_tool_does_not_have_is_refused(backend: Backend) -> None:
    given = {"prompt": "red lamp", "pool": "logic", "caller": "root"}

    assert "has no argument 'caller'" in said(backend, local_caller(), "recall", given)


def test_who_may_not_ask_any_more_is_told_so_in_place_of_a_list(backend: Backend) -> None:
    def revoked() -> Caller:
        raise NoToken("This token is not known: it is misspelt, or was revoked.")

    async def ask() -> None:
        async with Client(mcp_server(backend, revoked)) as client:
            with pytest.raises(MCPError, match="revoked"):
                await client.list_tools()

    asyncio.run(ask())


def test_lists_say_for_how_long_they_are_fresh_where_the_protocol_has_that(backend: Backend) -> None:
    version, earlier = "2026-07-28", "2025-06-18"
    envelope = {PROTOCOL_VERSION_META_KEY: version, CLIENT_CAPABILITIES_META_KEY: {}}

    def result(url: str, method: str, asked_in: str) -> Any:
        params = ({"uri": "memshare://pools"} if method == "resources/read" else {}) | {"_meta": envelope}
        headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": asked_in}
        named = {"Mcp-Method": method, **({"Mcp-Name": params["uri"]} if "uri" in params else {})}
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = httpx2.post(f"{url}/mcp", json=body, headers=headers | named, timeout=30)
        assert answer.status_code == 200, answer.text
        return json.loads(answer.text[answer.text.index("{") :])["result"]

    with served(backend) as url:
        for method in sorted(CACHEABLE_METHODS):
            now = result(url, method, version)
            assert now["cacheScope"] == "private"
            # What is read of a pool changes with each memory.
            assert (now["ttlMs"] >= 60_000) == (method != "resources/read"), method
        assert "ttlMs" not in result(url, "tools/list", earlier)
