"""What a request to REST or MCP goes through first: who asks, how often, and a body that can be read."""

from __future__ import annotations

from fastapi.responses import JSONResponse
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memshare.doors.authentication import authenticate
from memshare.doors.body import Bodies, Gone, with_body
from memshare.doors.problems import headers_of, problem_of, status_of
from memshare.operations.apart import ASKING, at_the_entrance
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller
from memshare_broker.connection import DOWN
from memshare_broker.errors import MemshareError
from memshare_broker.observe import tracing

REST, MCP = "/v1/", "/mcp"
KNOWN = "callers"
"""What a request has in its state that is who asks, by the deployment that was asked for that already."""
REFUSED = -32000  # the first code of JSON-RPC that is a server's own


class Entrance:
    """Lets requests in one after the other; nothing of a body is read before it is known who asks.

    What is open to all passes by, and reads no body.
    """

    def __init__(self, app: ASGIApp, backend: Backend) -> None:
        self._app = app
        self._backend = backend
        self._bodies = Bodies()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope = without_slash(scope)
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        send = with_headers(request, send)
        if not (scope["path"].startswith(REST) or scope["path"] == MCP):
            await self._app(scope, receive, send)
            return
        with tracing.request(request.headers, {"http.request.method": request.method}) as answered:

            async def send_noted(message: Message) -> None:
                if message["type"] == "http.response.start":
                    route = getattr(scope.get("route"), "path", MCP)  # without the ids of the path
                    answered(f"{request.method} {route}", message["status"])
                await send(message)

            await self._let_in(request, receive, send_noted)

    async def _let_in(self, request: Request, receive: Receive, send: Send) -> None:
        scope = request.scope
        try:
            known: dict[Backend, Caller] = scope.setdefault("state", {}).get(KNOWN, {})
            caller = known.get(self._backend)
            if caller is None:
                caller = await at_the_entrance(authenticate, self._backend, request)
            body = await self._bodies.read(receive, caller.name)
        except (MemshareError, *DOWN) as error:
            await refusal(scope["path"], error)(scope, receive, send)
        except Gone:
            return
        else:
            request.state.caller = caller
            ASKING.set((caller.name, Request(scope, with_body(body, receive)).is_disconnected))
            tracing.note({"memshare.submitter": caller.name})
            await self._app(scope, with_body(body, receive), send)


def with_headers(request: Request, send: Send) -> Send:
    """Sends the same, and that nobody keeps a reply of REST or MCP; behind https, that it is https from now on."""
    is_data = request.url.path.startswith(REST) or request.url.path == MCP
    is_https = request.headers.get("x-forwarded-proto") == "https"

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            if is_data:
                headers.setdefault("Cache-Control", "no-store")
            if is_https:
                headers.setdefault("Strict-Transport-Security", "max-age=31536000")
        await send(message)

    return sent


def without_slash(scope: Scope) -> Scope:
    """The scope of a request for the same path without a slash at its end, so that no redirect has to say so.

    A redirect would name the scheme of this server, where a proxy may speak another one.
    """
    raw: bytes = scope.get("raw_path") or b""
    without = raw.rstrip(b"/")  # a slash that is written %2F is part of a name
    if without == raw:
        return scope
    return {**scope, "path": scope["path"][: len(without) - len(raw)] or "/", "raw_path": without or b"/"}


def refusal(path: str, error: Exception) -> Response:
    """The answer to who is not let in: for MCP one of JSON-RPC, of which its clients tell what it says."""
    if path != MCP:
        return problem_of(error)
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": REFUSED, "message": str(error)}}
    return JSONResponse(body, status_of(error), headers_of(error))
