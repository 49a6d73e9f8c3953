"""Runs the REST door: uvicorn on a socket that was bound before, with MCP, and `/health` and `/alive` for watchers."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from threading import Lock
from typing import TYPE_CHECKING, Any

import anyio
import redis
import uvicorn
from anyio.abc import TaskGroup, TaskStatus
from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from memshare.doors.authentication import OF_CONNECTION, is_same_user
from memshare.doors.entrance import LARGEST_BODY, MCP, Entrance
from memshare.doors.pages.routes import Site, page_routes
from memshare.doors.rest import Problem, add_handlers, call_routes, problem
from memshare.operations.apart import at_the_entrance
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller
from memshare_broker.connection import DOWN, connect
from memshare_broker.errors import BadInput, MemshareError
from memshare_broker.observe import tracing
from memshare_broker.settings import Settings
from memshare_memory.door.bounded_connection import BoundedConnection, Bounds, server_config
from memshare_memory.door.client import BACKLOG, MemoryClient

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

    from memshare.doors.mcp_server import mcp_server

    server = mcp_server(backend, caller)
    server.streamable_http_app(
        stateless_http=True,
        max_request_body_size=largest_body,
        # Who has no token must ask from this machine, by its own name: `Entrance` sees to that.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return server.session_manager


KEY = "memshare:health"
KNOWN_FOR = 1.0  # seconds
REPLY_WITHIN = 3.0  # seconds for Redis, and for the memory service


class Health:
    """Health of Redis and the memory service: a fault, if any, as a sentence for anybody, without an address."""

    def __init__(self, settings: Settings, memories: MemoryClient) -> None:
        self._memories = memories
        self._client = connect(settings.redis, tries=0, timeout=REPLY_WITHIN)
        self._turn = threading.Lock()
        self._looked, self._fault = -KNOWN_FOR, ""

    def fault(self) -> str:
        """Nothing where Redis takes writes, and memories can be recalled."""
        with self._turn:
            if time.monotonic() - self._looked >= KNOWN_FOR:
                self._fault = self._ask()
                self._looked = time.monotonic()
            return self._fault

    def close(self) -> None:
        self._client.close()

    def _ask(self) -> str:
        try:
            self._client.set(KEY, 1, ex=60)
        except DOWN:
            return "Down: Redis does not answer."
        except redis.ResponseError as error:
            return f"Degraded: what is there can be read, but Redis takes no writes: {error}"
        try:
            self._memories.stats(timeout=REPLY_WITHIN)
        except MemshareError:
            return "Degraded: the memory service does not answer, so nothing is recalled."
        return ""


def health_routes(health: Health) -> list[Route]:
    """Both without a token: `/health` for who watches, `/alive` for who balances or would restart this process."""

    async def is_well(_: Request) -> Response:
        fault = await at_the_entrance(health.fault)
        return PlainTextResponse(fault or "ok", 503 if fault else 200)

    return [Route("/health", is_well, methods=["GET"]), Route("/alive", is_alive, methods=["GET"])]


async def is_alive(_: Request) -> Response:
    """The answer of a running process."""
    return PlainTextResponse("ok")


DESCRIPTION = """\
Three calls make any agent part of the pool: recall before, offer after, feedback when the outcome is known.
What comes in is graded, settled once, credited and learnt from. A token's name stands as the submitter of all that it
brings in, and a token sees its own pools alone: what is not yours is a 404.
"""


def rest_app(backend: Backend) -> FastAPI:
    """The app; it closes nothing that it is given."""
    mcp = McpDoor(backend, LARGEST_BODY)
    app = FastAPI(
        title="memshare",
        version="1",
        description=DESCRIPTION,
        docs_url=None,  # its own page loads scripts from a public network
        redoc_url=None,
        redirect_slashes=False,
        lifespan=mcp.lifespan,
    )
    site, health = Site(backend), Health(backend.settings, backend.client.memories)
    app.state.backend, app.state.is_same_user, app.state.unknown = backend, is_same_user, site.unknown
    app.add_middleware(Entrance, backend=backend)
    add_handlers(app)
    app.router.routes += [*call_routes(), mcp.route, *health_routes(health), *page_routes(site)]

    described, one_at_a_time = app.openapi, Lock()

    def with_problem() -> dict[str, Any]:
        with one_at_a_time:
            schema = described()
        schema["components"]["schemas"].setdefault("Problem", Problem.model_json_schema())
        return schema

    app.openapi = with_problem  # type: ignore[method-assign]
    return app


REQUEST_WITHIN = 30.0  # seconds

# What our own pages load is of this server, and nobody shows them in a frame of theirs.
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = [
    ("Content-Security-Policy", CONTENT_POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "same-origin"),  # without it, forms do not say whose page they are of
]
"""Sent with every answer."""


def listen(host: str, port: int) -> socket.socket:
    """A socket at this address; port 0 takes a free one. Raises `BadInput` where it cannot be had."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise BadInput(f"Nothing can listen on {host}:{port}: {error.strerror}. Give another --port.") from error


def run(backend: Backend, listening: socket.socket) -> None:
    """Serve until SIGTERM or Ctrl-C; requests that are being answered may finish."""
    server_of(backend).run(sockets=[listening])


class RestServer(uvicorn.Server):
    """Sends the last traces before it ends, which it does by the signal that it got."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        await run_in_threadpool(tracing.end)


class RestConnection(BoundedConnection):
    """A connection whose requests share what was found out about it."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.app_state = {**self.app_state, OF_CONNECTION: {}}
        super().connection_made(transport)


def server_of(backend: Backend) -> uvicorn.Server:
    """The server of a deployment, not yet running."""
    app = rest_app(backend)
    server = RestServer(server_config(app, Bounds(problem, REQUEST_WITHIN), RestConnection, headers=HEADERS))
    app.state.is_ending = lambda: server.should_exit  # streams end then, which would keep it waiting
    return server
