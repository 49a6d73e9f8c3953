"""`memshare mcp` as a program in a pipe: all requests come at once, and then the input ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from memshare.operations.backend import Backend
from tests.support.deployment import patient

HELLO = {
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "pipe", "version": "1"}},
}
READY = {"method": "notifications/initialized"}


def piped(backend: Backend, *messages: dict[str, Any]) -> list[dict[str, Any]]:
    """The replies to messages that are there before any is answered."""
    environment = {
        "PATH": os.environ["PATH"],
        "MEMSHARE_DATA": str(backend.settings.data),
        "MEMSHARE_REDIS_URL": backend.settings.redis,
    }
    lines = "".join(f"{json.dumps({'jsonrpc': '2.0', **one})}\n" for one in messages)
    ended = subprocess.run(
        [sys.executable, "-m", "memshare", "mcp"], input=lines, env=environment, capture_output=True, text=True,
        timeout=patient(60), check=True,
    )  # fmt: skip
    return [json.loads(line) for line in ended.stdout.splitlines()]


def call(number: int, pool: str = "logic") -> dict[str, Any]:
    arguments = {"text": "red lamp", "pool": pool}
    return {"id": number, "method": "tools/call", "params": {"name": "search_memories", "arguments": arguments}}


@pytest.mark.usefixtures("shelf")
def test_every_request_of_a_pipe_that_has_ended_is_answered(backend: Backend) -> None:
    replies = piped(backend, {"id": 0, **HELLO}, READY, *map(call, range(1, 6)), {"id": 6, "method": "no/such"})

    assert sorted(one["id"] for one in replies) == list(range(7))
    found = [one["result"]["structuredContent"]["memories"] for one in replies if 0 < one["id"] < 6]
    assert [one[0]["answer"] for one in found] == ["A light."] * 5
    assert "error" in next(one for one in replies if one["id"] == 6)


def test_a_request_that_was_cancelled_keeps_the_server_from_ending_no_longer(backend: Backend) -> None:
    arguments = {"agent": "logic", "prompt": "a riddle", "wait": 0.5}
    slow = {"id": 1, "method": "tools/call", "params": {"name": "ask_agent", "arguments": arguments}}
    cancelled = {"method": "notifications/cancelled", "params": {"requestId": 1}}

    replies = piped(backend, {"id": 0, **HELLO}, READY, slow, cancelled)

    assert 0 in [one["id"] for one in replies]
