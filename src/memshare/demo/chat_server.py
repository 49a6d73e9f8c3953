"""An OpenAI-compatible server on loopback, for a process of its own: it prints its address and serves until its end."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import uvicorn

BACKLOG = 2048
NO_LISTING = b'{"object": "list", "data": []}'  # such a server takes any name of a model

Message = MutableMapping[str, Any]
Reply = Callable[[str, bytes], Awaitable[bytes]]
"""From the path and the body of a request to the JSON of its reply."""


def app(reply: Reply) -> Any:
    """An ASGI app whose every reply is JSON."""

    async def answer(
        scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
    ) -> None:
        body = b""
        more = True
        while more:
            part = await receive()
            body += part.get("body", b"")
            more = part.get("more_body", False)
        content = NO_LISTING if scope["path"].endswith("/models") else await reply(scope["path"], body)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    return answer


def serve(reply: Reply) -> None:
    """Serve on a free port until the process is ended."""
    with socket.create_server(("127.0.0.1", 0), backlog=BACKLOG) as listening:
        print(f"http://127.0.0.1:{listening.getsockname()[1]}/v1", flush=True)
        config = uvicorn.Config(app(reply), log_level="warning", access_log=False, lifespan="off", ws="none")
        uvicorn.Server(config).run(sockets=[listening])
