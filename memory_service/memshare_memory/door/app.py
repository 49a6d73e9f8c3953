"""The door of the memory service as an ASGI app: POST /METHOD with JSON, and GET /health."""

from __future__ import annotations

import asyncio
import hmac
import logging
import socket
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import redis
import uvicorn
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from memshare_broker.connection import DOWN
from memshare_broker.errors import BadInput, GiveUp, MemshareError, TryAgain, Unreachable, WrongAgain
from memshare_broker.observe import tracing
from memshare_broker.wire.forms import readable
from memshare_memory.door.bounded_connection import END_WITHIN, Bounds, server_config
from memshare_memory.door.client import LARGEST_BODY, METHODS, DoorMethod, MemoryClient
from memshare_memory.door.messages import RecallRequest, Refusal
from memshare_memory.door.service import RecallBatches, Service

log = logging.getLogger(__name__)

Endpoint = Callable[[Request], Awaitable[Response]]


def door_app(service: Service, recalls: RecallBatches, token: str | None) -> Starlette:
    """The app. With a `token`, every request but /health has to bring it."""

    functions = service.functions

    async def recall(request: RecallRequest) -> Any:
        if not request.new_pool and not service.pools.are_known({request.pool}):
            await run_in_threadpool(service.pools.require, {request.pool})
        return await asyncio.wrap_future(recalls.ask(request))

    def answering(method: DoorMethod[Any, Any]) -> Callable[[Any], Awaitable[Any]]:
        if method is MemoryClient._recall:
            return recall
        work = functions[method.name]
        return lambda request: run_in_threadpool(work, request)

    async def health(_: Request) -> Response:
        return Response(b'{"status":"ok"}', media_type="application/json")

    routes = [
        Route(f"/{method.name}", _endpoint(method, answering(method), token), methods=["POST"]) for method in METHODS
    ]
    return Starlette(routes=[*routes, Route("/health", health, methods=["GET"])])


def _endpoint(method: DoorMethod[Any, Any], answer: Callable[[Any], Awaitable[Any]], token: str | None) -> Endpoint:
    expected = f"Bearer {token}".encode() if token else None

    async def endpoint(request: Request) -> Response:
        given = request.headers.get("authorization", "").encode()
        if expected is not None and not hmac.compare_digest(given, expected):
            # Not a fault of the task that asks: it is tried again when the worker has the right token.
            mend = "MEMSHARE_MEMORY_TOKEN is another one than its own" if given else "set MEMSHARE_MEMORY_TOKEN"
            return refused(401, TryAgain(f"This memory service asks for its token: {mend}."))
        try:
            asked = method.takes.validate_json(await _body(request))
            with tracing.continued(request.headers):
                answered = await answer(asked)
            return Response(method.gives.dump_json(answered), media_type="application/json")
        except ValidationError as error:
            return refused(422, BadInput(readable(error, f"The request {method.name!r}")))
        except _TooLarge as error:
            return refused(413, error)
        except BadInput as error:
            return refused(400, error)
        except TryAgain as error:
            return refused(503, error)
        except (redis.ResponseError, *DOWN) as error:  # such as on a full disk
            return refused(503, TryAgain(f"The memory service's Redis does not do its part: {error}"))
        except MemshareError as error:
            return refused(500, error)
        except ClientDisconnect:
            return Response()  # nobody is there any more
        except Exception:
            log.exception("A request %r failed.", method.name)
            return refused(500, GiveUp("The memory service failed; its log says why."))

    return endpoint


class _TooLarge(BadInput):
    pass


async def _body(request: Request) -> bytes:
    """Body of a request; reading stops once it is too large."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_BODY:
            raise _TooLarge(f"The request is larger than {LARGEST_BODY // 2**20} MiB: send it in parts.")
    return bytes(body)


def refused(status: int, error: Exception) -> Response:
    kinds = {WrongAgain: "wrong again", BadInput: "bad input", GiveUp: "give up"}
    kind = next((kind for of, kind in kinds.items() if isinstance(error, of)), "try again")
    refusal = Refusal(kind=kind, error=str(error), wait=getattr(error, "wait", None))
    return Response(refusal.model_dump_json(), status, media_type="application/json")


def refused_by_bounds(status: int, detail: str) -> Response:
    """Response to a refused request. After a timeout or too many connections, the client may try again."""
    return refused(status, TryAgain(detail) if status in (408, 503) else BadInput(detail))


REQUEST_WITHIN = 120.0  # seconds: a body may have 64 MiB
START_WITHIN = 30.0  # seconds


class DoorServer:
    """An HTTP server in a thread of its own, until it is closed."""

    def __init__(self, app: Starlette, listening: socket.socket) -> None:
        self._socket = listening
        config = server_config(app, Bounds(refused_by_bounds, REQUEST_WITHIN), lifespan="off")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="memshare-door", daemon=True)

    def start(self) -> None:
        """Return when requests are answered."""
        self._thread.start()
        deadline = threading.Event()
        for _ in range(int(START_WITHIN * 100)):
            if self._server.started:
                return
            deadline.wait(0.01)
        raise Unreachable(f"The door of the memory service did not open within {START_WITHIN:.0f} s.")

    def close(self) -> None:
        """Take no new requests, answer those that are there, and end."""
        self._server.should_exit = True
        self._thread.join(END_WITHIN + 5)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=self._server.config.get_loop_factory()) as runner:
            runner.run(self._server.serve(sockets=[self._socket]))
