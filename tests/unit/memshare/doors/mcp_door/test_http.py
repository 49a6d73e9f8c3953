"""MCP over HTTP is there for whoever asks for it, and costs nothing before."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import httpx2

from memshare.doors.backend import Backend
from tests.support.served import served

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


def test_a_server_that_nobody_asks_for_mcp_does_not_load_it() -> None:
    program = "import sys, memshare.cli.run.serve; print(sorted({'mcp', 'mcp_types'} & sys.modules.keys()))"

    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout

    assert printed.strip() == "[]"


def test_the_first_who_ask_may_come_at_once(backend: Backend) -> None:
    def ask(url: str) -> tuple[int, bool]:
        answer = httpx2.post(f"{url}/mcp", json=LIST, headers=ACCEPT, timeout=30)
        return answer.status_code, "search_memories" in answer.text

    with served(backend) as url, ThreadPoolExecutor(8) as everybody:
        assert set(everybody.map(ask, [url] * 8)) == {(200, True)}
