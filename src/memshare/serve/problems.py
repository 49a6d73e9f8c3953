"""Errors over HTTP, as problem details (RFC 9457): which status each of ours has, and when to come back."""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from memshare.broker.connection import DOWN
from memshare.broker.errors import MemshareError
from memshare.broker.wire.checking import one_line
from memshare.serve.errors import STATUSES

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"


class Problem(BaseModel):
    """What went wrong: `title` names the kind, `detail` says what to do."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"title": "Not Found", "status": 404, "detail": "No pool is called 'x'."}]}
    )

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    fields: list[str] = Field(default=[], description="what was wrong in the request, a line for each field")


_CONTENT = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
RESPONSES: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "The request cannot be fulfilled as it is.", "content": _CONTENT},
    "5XX": {"description": "Not now: something that is needed does not answer.", "content": _CONTENT},
}
"""What every operation may answer beside its own reply."""


def add_handlers(app: FastAPI) -> None:
    """Let every error of the app be told as a problem."""
    for kind, status in STATUSES:
        app.add_exception_handler(kind, _handler(status))
    for down in DOWN:
        app.add_exception_handler(down, _handler(503))
    app.add_exception_handler(MemshareError, _handler(500))
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _bug)


def problem(
    status: int, detail: str, headers: dict[str, str] | None = None, fields: list[str] | None = None
) -> JSONResponse:
    """A problem as a response."""
    body = Problem(title=HTTPStatus(status).phrase, status=status, detail=detail, fields=fields or [])
    return JSONResponse(body.model_dump(), status, headers=headers, media_type=MEDIA_TYPE)


def _handler(status: int) -> Callable[[Request, Exception], Awaitable[JSONResponse]]:
    async def handle(_: Request, error: Exception) -> JSONResponse:
        headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
        wait = getattr(error, "wait", None)
        if wait is not None:
            headers["Retry-After"] = str(max(math.ceil(wait), 1))
        return problem(status, str(error), headers)

    return handle


async def _invalid(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    fields = [
        one_line(f"{'.'.join(str(part) for part in one['loc'])}: {one['msg'].removeprefix('Value error, ')}")
        for one in error.errors()
    ]
    return problem(422, f"The request cannot be read: {fields[0]}.", fields=fields)


async def _http(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return problem(error.status_code, str(error.detail), dict(error.headers or {}))


async def _bug(request: Request, error: Exception) -> JSONResponse:
    log.error("A request for %s failed.", request.url.path, exc_info=error)
    return problem(500, "Something went wrong here; the log of `memshare serve` says what.")
