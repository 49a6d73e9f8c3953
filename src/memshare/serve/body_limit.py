"""Requests that are too large are refused, before they are read whole."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memshare.serve.problems import problem

LARGEST_BODY = 2**20  # bytes


class BodyLimit:
    """Reads no more of a request than is taken."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return  # who asked has gone
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > LARGEST_BODY:
                refused = problem(413, f"The request is larger than {LARGEST_BODY:,} bytes: send less at once.")
                await refused(scope, receive, send)
                return
        read = False

        async def whole() -> Message:
            nonlocal read
            if read:
                return await receive()
            read = True
            return {"type": "http.request", "body": bytes(body), "more_body": False}

        await self._app(scope, whole, send)
