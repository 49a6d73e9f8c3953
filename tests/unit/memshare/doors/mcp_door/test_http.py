"""MCP over HTTP is there for whoever asks for it, and costs nothing before."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
from mcp_types import CLIENT_CAPABILITIES_META_KEY, PROTOCOL_VERSION_META_KEY

from memshare.operations.backend import Backend
from tests.support.served import served

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


def test_a_server_that_nobody_asks_for_mcp_does_not_load_it() -> None:
    program = "import sys, memshare.cli.run.serve; print(sorted({'mcp', 'mcp_types'} & sys.modules.keys()))"

    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout

    assert printed.strip() == "[]"


@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28"])
@pytest.mark.parametrize("twice", ['"text": "a", "text": "b"', '"text": "a", "pool": {"k": 1, "k": 2}'])
def test_two_keys_of_one_name_are_refused_by_the_name(backend: Backend, version: str, twice: str) -> None:
    envelope = json.dumps({PROTOCOL_VERSION_META_KEY: version, CLIENT_CAPABILITIES_META_KEY: {}})
    params = f'{{"name": "search_memories", "arguments": {{{twice}}}, "_meta": {envelope}}}'
    body = f'{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {params}}}'
    named = {"MCP-Protocol-Version": version, "Mcp-Method": "tools/call", "Mcp-Name": "search_memories"}

    with served(backend) as url:
        answer = httpx2.post(
            f"{url}/mcp", content=body, headers=ACCEPT | named | {"Content-Type": "application/json"}, timeout=30
        )

    key = twice.rpartition('"')[0].rpartition('"')[2] if "k" in twice else "text"
    assert answer.status_code == 422
    assert f"the key {key!r} stands twice" in answer.json()["error"]["message"]


def test_the_first_who_ask_may_come_at_once(backend: Backend) -> None:
    def ask(url: str) -> tuple[int, bool]:
        answer = httpx2.post(f"{url}/mcp", json=LIST, headers=ACCEPT, timeout=30)
        return answer.status_code, "search_memories" in answer.text

    with served(backend) as url, ThreadPoolExecutor(8) as everybody:
        assert set(everybody.map(ask, [url] * 8)) == {(200, True)}
