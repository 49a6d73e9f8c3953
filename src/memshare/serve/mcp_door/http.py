"""MCP over streamable HTTP, beside REST, with the same tokens."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar

from fastapi import FastAPI
from fastapi.security.utils import get_authorization_scheme_param
from mcp.server.transport_security import TransportSecuritySettings
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from memshare.serve.authentication import find_caller
from memshare.serve.backend import Backend
from memshare.serve.caller import Caller
from memshare.serve.mcp_door.server import mcp_server

PATH = "/mcp"


class McpDoor:
    """An ASGI app that knows who asks before a message is read. It keeps no session: any process can answer."""

    def __init__(self, backend: Backend, largest_body: int) -> None:
        self._backend = backend
        self._asking: ContextVar[Caller] = ContextVar("asking")
        self._server = mcp_server(backend, self._asking.get)
        self._largest_body = largest_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        scheme, text = get_authorization_scheme_param(request.headers.get("authorization"))
        token = text if scheme.lower() == "bearer" else None
        self._asking.set(await run_in_threadpool(find_caller, self._backend, request, token))
        await self._server.session_manager.handle_request(scope, receive, send)

    @asynccontextmanager
    async def lifespan(self, _: FastAPI) -> AsyncIterator[None]:
        """Serve while the app does."""
        self._server.streamable_http_app(
            stateless_http=True,
            max_request_body_size=self._largest_body,
            # Who has no token must ask from this machine, by its own name: `find_caller` sees to that.
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )  # a manager of sessions runs once; this makes one
        async with self._server.session_manager.run():
            yield

    @property
    def route(self) -> Route:
        return Route(PATH, self, include_in_schema=False)
