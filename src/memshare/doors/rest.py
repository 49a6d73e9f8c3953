"""REST: a route for each call of the table, and errors as problem details (RFC 9457)."""

from __future__ import annotations

import functools
import inspect
import logging
import math
from collections.abc import AsyncIterator, Callable
from http import HTTPStatus
from typing import Annotated, Any, get_args, get_origin

from fastapi import APIRouter, Depends, FastAPI, Header, Path, Query, Request
from fastapi.datastructures import Default
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel, ConfigDict, Field
from pydantic.fields import FieldInfo
from redis.exceptions import ResponseError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from memshare.client.errors import STATUSES, NoToken
from memshare.client.rest.call import Call
from memshare.client.rest.calls.journeys import JourneyReply
from memshare.client.rest.calls.memories import MemoryReply
from memshare.doors.authentication import BackendNow, CallerNow
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller
from memshare.operations.forms import Key
from memshare.operations.journeys import JourneyId, own_journey
from memshare.operations.serving import BODIES, form_of, served
from memshare_broker.connection import DOWN, unreachable
from memshare_broker.errors import MemshareError
from memshare_broker.wire.forms import OF_FIELD, one_line

Version = Annotated[str | None, Header(alias="If-Match", description="the ETag of the version that the change is for")]
IdempotencyKey = Annotated[
    Key | None, Header(alias="Idempotency-Key", description="in place of the field of the same name")
]


@functools.cache
def call_routes() -> list[APIRoute]:
    """The routes, in the order of the documentation.

    All apps of a process share them: they find the backend in the state of the app that is asked, and FastAPI takes a
    tenth of a second to make them.
    """
    router = APIRouter(generate_unique_id_function=lambda route: route.name)
    for call, operation in served().items():
        router.add_api_route(
            call.path,
            _streamed(operation) if call.silence else _endpoint(call, operation),
            methods=[call.verb],
            name=call.name,
            status_code=call.status,
            tags=[call.heading],
            description=call.does,
            response_class=EventSourceResponse if call.silence else Default(JSONResponse),
            responses=RESPONSES,
        )
    return [route for route in router.routes if isinstance(route, APIRoute)]


def _endpoint(call: Call[Any], operation: Callable[..., Any]) -> Callable[..., Any]:
    """An operation as FastAPI reads it: each parameter with where it stands in a request, and with headers."""
    signature, body = inspect.signature(operation, eval_str=True), form_of(operation) if BODIES[operation][1] else None
    fields = body.model_fields if body else {}
    asked = [one for one in signature.parameters.values() if one.name not in fields]
    parameters = [one.replace(annotation=_source(call, one)) for one in asked]
    function = operation
    if body:
        function = _with_fields(function)
        parameters.append(inspect.Parameter("body", _KEYWORD, annotation=body))
    if call.reply is MemoryReply:
        function = _with_etag(function)
        parameters.append(inspect.Parameter("response", _KEYWORD, annotation=Response))
    if "idempotency_key" in fields:
        parameters.append(inspect.Parameter("key", _KEYWORD, annotation=IdempotencyKey, default=None))
    made = functools.partial(function)
    made.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return made


_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def _source(call: Call[Any], parameter: inspect.Parameter) -> Any:
    """The annotation of a parameter, with where it stands in a request."""
    kind = parameter.annotation
    if kind in (Backend, Caller):
        return BackendNow if kind is Backend else CallerNow
    if parameter.name == call.if_match:
        return Version
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return Annotated[kind, Query()] if call.verb == "GET" else kind
    return _placed(kind, Path if f"{{{parameter.name}}}" in call.path else Query)


def _placed(kind: Any, place: Callable[..., Any]) -> Any:
    plain, *about = get_args(kind) if get_origin(kind) is Annotated else (kind,)
    info = next((one for one in about if isinstance(one, FieldInfo)), None)
    others = [one for one in about if one is not info]
    return Annotated[(plain, *others, *info.metadata, place(description=info.description))] if info else kind


JourneyInPath = _placed(JourneyId, Path)


def _with_etag(operation: Callable[..., MemoryReply]) -> Callable[..., MemoryReply]:
    """The same, with the version of the memory as ETag."""

    def versioned(*args: Any, response: Response, **kwargs: Any) -> MemoryReply:
        reply = operation(*args, **kwargs)
        response.headers["ETag"] = f'"{reply.version}"'
        return reply

    return versioned


def _with_fields(operation: Callable[..., Any]) -> Callable[..., Any]:
    """The same, with the fields of the body as arguments; the idempotency key may stand in a header."""

    def spread(*args: Any, body: BaseModel, key: str | None = None, **kwargs: Any) -> Any:
        return operation(*args, **kwargs, **dict(body) | ({} if key is None else {"idempotency_key": key}))

    return spread


def _seen(
    backend: BackendNow,
    caller: CallerNow,
    journey_id: JourneyInPath,  # type: ignore[valid-type]
) -> JourneyReply:
    """The journey as it is now: who may not see it is told before a stream begins."""
    return own_journey(backend, caller, journey_id)


def _streamed(operation: Callable[..., AsyncIterator[JourneyReply]]) -> Callable[..., AsyncIterator[ServerSentEvent]]:
    """The journeys that an operation yields, as events named by their state."""

    async def events(
        backend: BackendNow,
        caller: CallerNow,
        journey_id: JourneyInPath,  # type: ignore[valid-type]
        _: Annotated[JourneyReply, Depends(_seen)],
    ) -> AsyncIterator[ServerSentEvent]:
        async for journey in operation(backend, caller, journey_id):
            yield ServerSentEvent(data=journey.model_dump(mode="json"), event=journey.state)

    return events


log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
METHODS = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")


class Problem(BaseModel):
    """An error: `title` names the kind, `detail` says what to do."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"title": "Not Found", "status": 404, "detail": "No pool is called 'x'."}]}
    )

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    fields: list[str] = Field(default=[], description="what was wrong in the request, a line for each field")
    errors: list[dict[str, str]] = Field(
        default=[],
        description="the same for programs: the `detail`, and where it is, as a JSON `pointer` into that part of the "
        "request (`in`: body, query, path or header)",
    )


_CONTENT = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
RESPONSES: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "The request cannot be fulfilled as it is.", "content": _CONTENT},
    "5XX": {"description": "Not now: something that is needed does not answer.", "content": _CONTENT},
}
"""Responses of every operation beside its own reply."""


def add_handlers(app: FastAPI) -> None:
    """Let every error of the app be told as a problem."""
    app.add_exception_handler(MemshareError, _known)
    for fault in (ResponseError, *DOWN):
        app.add_exception_handler(fault, _redis_fault)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _bug)


def problem(status: int, detail: str, headers: dict[str, str] | None = None, **more: Any) -> JSONResponse:
    """A problem as a response."""
    body = Problem(title=HTTPStatus(status).phrase, status=status, detail=detail, **more)
    return JSONResponse(body.model_dump(), status, headers=headers, media_type=MEDIA_TYPE)


def status_of(error: Exception) -> int:
    """The HTTP status of an error of ours, or of a lost connection to Redis."""
    return (
        503 if isinstance(error, DOWN) else next((status for kind, status in STATUSES if isinstance(error, kind)), 500)
    )


def headers_of(error: Exception) -> dict[str, str]:
    """Headers of an error for programs: when to come back, how to say who it is."""
    headers = {"WWW-Authenticate": "Bearer"} if isinstance(error, NoToken) else {}
    wait = getattr(error, "wait", None)
    return headers if wait is None else {**headers, "Retry-After": str(max(math.ceil(wait), 1))}


def problem_of(error: Exception) -> JSONResponse:
    """An error of ours as a response."""
    return problem(status_of(error), str(error), headers_of(error))


async def _known(_: Request, error: Exception) -> JSONResponse:
    return problem_of(error)


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    fields, errors = [], []
    for one in error.errors():
        said, (place, *parts) = one["msg"].removeprefix("Value error, "), map(str, one["loc"])
        said = OF_FIELD.get(one["type"], said)
        fields.append(one_line(f"{'.'.join([place, *parts])}{' ' if one['type'] in OF_FIELD else ': '}{said}"))
        path = [] if one["type"] == "json_invalid" else parts  # of what is no JSON only the position is known
        pointer = "".join(f"/{part.replace('~', '~0').replace('/', '~1')}" for part in path)
        errors.append({"in": place, "pointer": one_line(pointer), "detail": one_line(said)})
    is_json = "json" in request.headers.get("content-type", "")
    mend = (
        " Send it with the header Content-Type: application/json." if errors[0]["in"] == "body" and not is_json else ""
    )
    return problem(422, f"The request cannot be read: {fields[0]}.{mend}", fields=fields, errors=errors)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    is_wrong = error.status_code == 404 or (error.status_code == 405 and request.method == "GET")
    if is_wrong and "text/html" in request.headers.get("accept", ""):
        unknown: Response = await request.app.state.unknown(request)
        return unknown
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = ", ".join(_methods(request))
    return problem(error.status_code, str(error.detail), headers)


def _methods(request: Request) -> list[str]:
    """All methods of a path: each has a route of its own, and the framework names those of the first one alone."""
    routes = request.app.routes
    return [
        method
        for method in METHODS
        if any(route.matches({**request.scope, "method": method})[0] is Match.FULL for route in routes)
    ]


async def _redis_fault(request: Request, error: Exception) -> JSONResponse:
    return problem(503, str(unreachable(request.app.state.backend.settings.redis, error)))


async def _bug(request: Request, error: Exception) -> JSONResponse:
    log.error("A request for %s failed.", request.url.path, exc_info=error)
    return problem(500, "Something went wrong here; the log of `memshare serve` says what.")
