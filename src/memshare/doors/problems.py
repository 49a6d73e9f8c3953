"""Errors over HTTP, as problem details (RFC 9457): which status each of ours has, and when to come back."""

from __future__ import annotations

import logging
import math
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from redis.exceptions import ResponseError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from memshare.client.errors import STATUSES, NoToken
from memshare_broker.connection import DOWN, unreachable
from memshare_broker.errors import MemshareError
from memshare_broker.wire.forms import one_line

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


async def _invalid(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    fields, errors = [], []
    for one in error.errors():
        said, (place, *parts) = one["msg"].removeprefix("Value error, "), map(str, one["loc"])
        fields.append(one_line(f"{'.'.join([place, *parts])}: {said}"))
        path = [] if one["type"] == "json_invalid" else parts  # of what is no JSON only the position is known
        pointer = "".join(f"/{part.replace('~', '~0').replace('/', '~1')}" for part in path)
        errors.append({"in": place, "pointer": one_line(pointer), "detail": one_line(said)})
    return problem(422, f"The request cannot be read: {fields[0]}.", fields=fields, errors=errors)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404 and "text/html" in request.headers.get("accept", ""):
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
