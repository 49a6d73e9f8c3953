"""A chat server on loopback that costs little, in a process of its own: real HTTP, and the answers of the tests.

`python -m benchmarks.chat_server` prints its address and serves until it is ended. POST /latency takes the seconds
that each reply waits from now on.
"""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn

from tests.support.chat_script import Answer, encode

ROOT = Path(__file__).parents[1]
BACKLOG = 2048
CONTRADICTS = (rb"\"contradicts\": true", rb"\"contradicts\": false")  # what is made up denies nothing

Message = MutableMapping[str, Any]


class Running(NamedTuple):
    """A server that runs: its process, and what goes into `OPENAI_BASE_URL`."""

    process: subprocess.Popen[str]
    url: str

    def set_latency(self, seconds: float) -> None:
        """Have each reply wait so long."""
        address = self.url.removesuffix("/v1") + "/latency"
        with urllib.request.urlopen(urllib.request.Request(address, str(seconds).encode(), method="POST"), timeout=10):
            return


class App:
    """The server as an ASGI app."""

    def __init__(self) -> None:
        self._latency = 0.0

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        body = b""
        more = True
        while more:
            part = await receive()
            body += part.get("body", b"")
            more = part.get("more_body", False)
        if scope["path"] == "/latency":
            self._latency = float(body)
            content = b"{}"
        else:
            if self._latency:
                await asyncio.sleep(self._latency)
            content = encode(json.loads(body), Answer()).replace(*CONTRADICTS)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": content})


@contextmanager
def running() -> Iterator[Running]:
    """A server that runs in a process of its own while the block does."""
    command = [sys.executable, "-m", "benchmarks.chat_server"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield Running(process, process.stdout.readline().strip())
    finally:
        process.terminate()
        process.wait()
        if process.stdout:
            process.stdout.close()


def main() -> None:
    """Serve on a free port until the process is ended."""
    with socket.create_server(("127.0.0.1", 0), backlog=BACKLOG) as listening:
        print(f"http://127.0.0.1:{listening.getsockname()[1]}/v1", flush=True)
        config = uvicorn.Config(App(), log_level="warning", access_log=False, lifespan="off", ws="none")
        uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
