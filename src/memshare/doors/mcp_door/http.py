"""MCP over streamable HTTP, beside REST, with the same tokens."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

import anyio
from anyio.abc import TaskGroup, TaskStatus
from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from memshare.doors.entrance import MCP
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager


class McpDoor:
    """An ASGI app that knows who asks before a message is read. It keeps no session: any process can answer.

    What answers is built for the first who asks: 0.3 s and 26 MB that REST alone does not need.
    """

    def __init__(self, backend: Backend, largest_body: int) -> None:
        self._backend = backend
        self._asking: ContextVar[Caller] = ContextVar("asking")
        self._largest_body = largest_body
        self._one_builds = anyio.Lock()
        self._sessions: StreamableHTTPSessionManager | None = None
        self._tasks: TaskGroup | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._asking.set(Request(scope).state.caller)
        async with self._one_builds:
            sessions = self._sessions or await self._build()
        await sessions.handle_request(scope, receive, send)

    @asynccontextmanager
    async def lifespan(self, _: FastAPI) -> AsyncIterator[None]:
        """Serve while the app does."""
        async with anyio.create_task_group() as self._tasks:
            yield
            self._tasks.cancel_scope.cancel()
        self._sessions = None

    async def _build(self) -> StreamableHTTPSessionManager:
        assert self._tasks is not None, "the app serves within its lifespan"
        made = await run_in_threadpool(_sessions, self._backend, self._asking.get, self._largest_body)
        await self._tasks.start(_run, made)
        self._sessions = made
        return made

    @property
    def route(self) -> Route:
        return Route(MCP, self, include_in_schema=False)


async def _run(sessions: StreamableHTTPSessionManager, *, task_status: TaskStatus[None]) -> None:
    async with sessions.run():
        task_status.started()
        await anyio.sleep_forever()


def _sessions(backend: Backend, caller: Callable[[], Caller], largest_body: int) -> StreamableHTTPSessionManager:
    """The official SDK's half of the door. A manager of sessions runs once."""
    from mcp.server.transport_security import TransportSecuritySettings

    from memshare.doors.mcp_door.server import mcp_server

    server = mcp_server(backend, caller)
    server.streamable_http_app(
        stateless_http=True,
        max_request_body_size=largest_body,
        # Who has no token must ask from this machine, by its own name: `Entrance` sees to that.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return server.session_manager
