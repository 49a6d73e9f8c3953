"""Several deployments behind one address: each request goes to the one that has what it names."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from memshare.client.errors import NoToken
from memshare.client.rest.call import Call
from memshare.doors.app import rest_app
from memshare.doors.authentication import authenticate
from memshare.doors.backend import Backend
from memshare.doors.body import Bodies, Gone, with_body
from memshare.doors.caller import Caller
from memshare.doors.deployments.choice import CHOICE, DeploymentChoice, names_by_id
from memshare.doors.deployments.merged_replies import MERGED, merge
from memshare.doors.entrance import KNOWN, MCP, REST, refusal, without_slash
from memshare.doors.health import is_alive
from memshare_broker.connection import DOWN
from memshare_broker.errors import MemshareError

COOKIE = f"memshare_{CHOICE}"
"""The cookie of a page that names a deployment."""
NAMED_BY = b"memshare-deployment"
"""Header of each answer: the deployment that it is of."""
REFUSED = (401, 403, 404, 503)
"""Statuses with which a deployment may say that something is not its own; the last one counts most."""


class Deployments:
    """An ASGI app of the apps of several deployments. Tokens are of the deployment that they were made in."""

    def __init__(self, backends: Sequence[Backend]) -> None:
        self.apps: dict[Backend, FastAPI] = {one: rest_app(one) for one in backends}
        self._bodies = Bodies()
        self._choice = DeploymentChoice(backends)
        self._own = Starlette(
            routes=[Route("/health", self._health), Route("/alive", is_alive)], lifespan=self._lifespan
        )
        self._own_paths = {route.path for route in self._own.routes if isinstance(route, Route)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope = without_slash(scope)
        if scope["type"] != "http" or scope["path"] in self._own_paths:
            await self._own(scope, receive, send)
            return
        try:
            await self._pass_on(Request(scope), receive, send)
        except (MemshareError, *DOWN) as error:
            await refusal(scope["path"], error)(scope, receive, send)
        except Gone:
            return

    async def _pass_on(self, request: Request, receive: Receive, send: Send) -> None:
        scope, path = request.scope, request.url.path
        named = request.query_params.get(CHOICE)
        if not path.startswith(REST) and path != MCP:
            if named is not None:
                await self._turned(self._choice.called(named))(scope, receive, send)
                return
            chosen = [one for one in self.apps if one.name == request.cookies.get(COOKIE)] or list(self.apps)
            await self._ask(chosen[0], scope, receive, send)
        elif named is not None:
            left = [(name, value) for name, value in request.query_params.multi_items() if name != CHOICE]
            await self._ask(
                self._choice.called(named), {**scope, "query_string": urlencode(left).encode()}, receive, send
            )
        elif path == MCP:
            raise self._choice.unclear()
        else:
            await self._route(request, receive, send)

    async def _route(self, request: Request, receive: Receive, send: Send) -> None:
        scope = request.scope
        backend, caller = await run_in_threadpool(self._first_that_knows, request)
        scope.setdefault("state", {})[KNOWN] = {backend: caller}
        receive = with_body(body := await self._bodies.read(receive, caller.name), receive)
        call, named = self._choice.read(request, body)
        if call is None:
            await self._ask(backend, scope, receive, send)
        elif agent := named.get("agent"):
            await self._ask(self._choice.with_agent(str(agent), caller), scope, receive, send)
        elif pool := named.get("pool"):
            having = await run_in_threadpool(self._choice.with_pool, str(pool), caller)
            await self._in_turn(having, scope, body, receive, send)
        elif call in MERGED:
            await self._merge(call, request, body, receive, send)
        elif names_by_id(call, named):
            await self._in_turn(list(self.apps), scope, body, receive, send)
        else:
            raise self._choice.unclear()

    async def _in_turn(
        self, backends: Sequence[Backend], scope: Scope, body: bytes, receive: Receive, send: Send
    ) -> None:
        """The answer of the first deployment that has it; where none has, the refusal that says most."""
        refusals = []
        for backend in backends:
            held = await self._ask(backend, scope, with_body(body, receive), send, REFUSED)
            if not held:
                return
            refusals.append(held)
        for message in max(refusals, key=lambda one: REFUSED.index(one[0]["status"])):
            await send(message)

    async def _merge(self, call: Call[Any], request: Request, body: bytes, receive: Receive, send: Send) -> None:
        """One answer of all deployments that know who asks; where one cannot answer, that is the answer."""
        replies, held = [], list[Message]()
        for backend in self.apps:
            held = await self._ask(backend, request.scope, with_body(body, receive), send, tuple(HTTPStatus))
            if (status := held[0]["status"]) == 200:
                replies.append(json.loads(b"".join(one.get("body", b"") for one in held[1:])))
            elif status != 401:
                replies.clear()
                break
        if not replies:
            for message in held:
                await send(message)
            return
        limit = request.query_params.get("limit")
        answer = JSONResponse(merge(call, replies, int(limit) if limit else None))
        await answer(request.scope, receive, send)

    async def _ask(
        self, backend: Backend, scope: Scope, receive: Receive, send: Send, held_back: Sequence[int] = ()
    ) -> list[Message]:
        """Pass a request on, and its answer back; an answer with one of these statuses is returned instead."""
        held: list[Message] = []

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (NAMED_BY, backend.name.encode())]
            if held or message.get("status") in held_back:
                held.append(message)
            else:
                await send(message)

        await self.apps[backend]({**scope, "state": dict(scope.get("state", {}))}, receive, answer)
        return held

    def _first_that_knows(self, request: Request) -> tuple[Backend, Caller]:
        """A deployment that knows who asks, before anything of a body is read; raises what keeps all from it."""
        refusals: list[Exception] = []
        for backend, app in self.apps.items():
            try:
                return backend, authenticate(backend, Request({**request.scope, "app": app}))
            except (MemshareError, *DOWN) as error:
                refusals.append(error)
        raise next((one for one in refusals if not isinstance(one, NoToken)), refusals[0])

    def _turned(self, backend: Backend) -> Response:
        """To the first page of a deployment, which is shown from then on."""
        answer = RedirectResponse("/", 303)
        answer.set_cookie(COOKIE, backend.name, httponly=True, samesite="strict")
        return answer

    async def _health(self, _: Request) -> Response:
        faults: Mapping[str, str] = {one.name: await run_in_threadpool(one.health.fault) or "ok" for one in self.apps}
        lines = "".join(f"{name}: {fault}\n" for name, fault in faults.items())
        return PlainTextResponse(lines, 200 if "ok" in faults.values() else 503)

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for app in self.apps.values():
                await stack.enter_async_context(app.router.lifespan_context(app))
            yield
