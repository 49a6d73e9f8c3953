"""A chat server on loopback that costs little: real HTTP, and the answers of the tests.

`python -m benchmarks.chat_server` prints its address and serves until it is ended. POST /latency takes the seconds
that each reply waits from now on.
"""

from __future__ import annotations

import asyncio
import json
import urllib.request
from typing import Any

from benchmarks.support.counts import kind_of
from benchmarks.support.replies import CONCEPTS
from memshare.demo.student_server import COMPLETIONS, serve
from tests.support.chat_script import Answer, encode

CONTRADICTS = (rb"\"contradicts\": true", rb"\"contradicts\": false")  # what is made up denies nothing


class Scripted:
    """Replies as the tests do, after a while."""

    def __init__(self) -> None:
        self._latency = 0.0

    async def __call__(self, path: str, body: bytes) -> bytes | None:
        if path == "/latency":
            self._latency = float(body)
            return b"{}"
        if not path.endswith(COMPLETIONS):
            return None
        await asyncio.sleep(self._latency)
        asked = json.loads(body)
        return encode(asked, Answer(_concepts(asked))).replace(*CONTRADICTS)


def _concepts(asked: dict[str, Any]) -> str | None:
    """The reply of who is asked which concepts memories have; None for what else is asked."""
    wanted = (asked.get("response_format") or {}).get("json_schema", {}).get("schema")
    return json.dumps(dict.fromkeys(wanted["required"], CONCEPTS)) if kind_of(wanted) == "concepts" else None


def set_latency(url: str, seconds: float) -> None:
    """Have each reply of the server at this address wait so long."""
    address = url.removesuffix("/v1") + "/latency"
    with urllib.request.urlopen(urllib.request.Request(address, str(seconds).encode(), method="POST"), timeout=10):
        return


if __name__ == "__main__":
    serve(Scripted())
