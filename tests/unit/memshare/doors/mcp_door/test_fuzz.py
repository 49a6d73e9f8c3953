"""Messages of all kinds: none is a fault of the MCP door."""

from __future__ import annotations

import functools
import json
import logging
import string
from collections import Counter
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from mcp_types import CLIENT_CAPABILITIES_META_KEY, PROTOCOL_VERSION_META_KEY

from memshare.doors.mcp_server import _takes
from memshare.doors.server import rest_app
from memshare.operations.backend import Backend

EXAMPLES = 250
TOOLS = ("recall", "offer", "feedback", "ask_agent", "search_memories", "forget", "call_wrong", "nothing")
METHODS = ("tools/list", "resources/read", "resources/list", "resources/templates/list", "initialize", "ping", "x")
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
NOBODY = "00000000-0000-0000-0000-000000000000"

texts = st.sampled_from(["logic", "poem", "", " ", "\x00", "\ud83d", "x" * 20_001, NOBODY]) | st.text(max_size=20)
leaves = st.none() | st.booleans() | st.integers() | st.floats() | texts
values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))
tasks = st.text(min_size=1, max_size=20) | texts
pools = st.sampled_from(["logic", "poem", "x"])
likely: dict[str, st.SearchStrategy[Any]] = {
    "prompt": tasks,
    "text": tasks,
    "answer": tasks,
    "agent": pools,
    "pool": pools,
    "kind": st.sampled_from(["riddle", "x"]),
    "k": st.integers(-1, 60),
    "reward": st.floats(-0.5, 1.5),
    "wait": st.sampled_from([0, 0.01]),
    "memory_id": st.just(NOBODY),
    "recall_id": st.just(NOBODY),
    "journey": texts,
    "idempotency_key": st.sampled_from(["a", "é", ""]),
}
words = st.text(string.ascii_letters, min_size=1, max_size=20)
right = st.fixed_dictionaries(
    {"prompt": words, "text": words, "answer": words, "agent": st.sampled_from(["logic", "poem"]), "wait": st.just(0)}
)
odd = st.fixed_dictionaries({}, optional=likely) | st.dictionaries(st.sampled_from(sorted(likely)), values)


def taken(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """What a tool takes of what is given."""
    return {argument: value for argument, value in given.items() if argument in _takes().get(name, given)}


def call(name: str) -> st.SearchStrategy[tuple[str, Any]]:
    own = right.map(functools.partial(taken, name))
    return st.tuples(
        st.just("tools/call"), st.fixed_dictionaries({"name": st.just(name), "arguments": own | own | odd | values})
    )


calls = st.sampled_from(TOOLS).flatmap(call)
uris = st.fixed_dictionaries({"uri": st.sampled_from(["memshare://pools", "memshare://pools/é", "x"]) | texts})
requests = calls | calls | st.tuples(st.sampled_from(METHODS), uris | values)


@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28"])
def test_no_message_is_a_fault_of_the_door(
    version: str, backend: Backend, shelf: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    assert shelf
    token = backend.tokens.create("fuzz", ("admin",), None)
    headers = {**HEADERS, "Authorization": f"Bearer {token}", "MCP-Protocol-Version": version}
    envelope = {PROTOCOL_VERSION_META_KEY: version, CLIENT_CAPABILITIES_META_KEY: {}}
    answers: Counter[str] = Counter()

    with TestClient(rest_app(backend), headers=headers) as client, caplog.at_level(logging.ERROR):

        def post(body: str, **named: str) -> str:
            response = client.post("/mcp", content=body, headers=named)
            assert response.status_code < 500, (body, response.text)
            assert not caplog.records, (body, caplog.text)
            return response.text

        @given(request=requests, raw=texts | values.map(json.dumps))
        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def send(request: tuple[str, Any], raw: str) -> None:
            post(raw.encode("utf-8", "replace").decode())
            method, params = request
            named = {"Mcp-Method": method}
            if isinstance(params, dict):
                params = params | {"_meta": envelope}
                if method == "tools/call":
                    named["Mcp-Name"] = params["name"]
            answer = post(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}), **named)
            answers["refused" if '"isError":true' in answer else "done" if '"isError":false' in answer else "x"] += 1

        send()

    assert min(answers["refused"], answers["done"]) > EXAMPLES // 20, answers
