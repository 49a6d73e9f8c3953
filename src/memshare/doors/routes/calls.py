"""A route for each call of the table."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Response
from fastapi.datastructures import Default
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from fastapi.sse import EventSourceResponse

from memshare.client.rest.calls.memories import MemoryReply
from memshare.doors.problems import RESPONSES
from memshare.doors.table import served


def _name(route: APIRoute) -> str:
    return route.name


@functools.cache
def call_routes() -> list[APIRoute]:
    """The routes, in the order of the documentation.

    All apps of a process share them: they find the backend in the state of the app that is asked, and FastAPI takes a
    tenth of a second to make them.
    """
    router = APIRouter(generate_unique_id_function=_name)
    for call, function in served().items():
        router.add_api_route(
            call.path,
            _with_etag(function) if call.reply is MemoryReply else function,
            methods=[call.verb],
            name=call.name,
            status_code=call.status,
            tags=[call.heading],
            description=call.does,
            response_class=EventSourceResponse if call.silence else Default(JSONResponse),
            responses=RESPONSES,
        )
    return [route for route in router.routes if isinstance(route, APIRoute)]


def _with_etag(function: Callable[..., MemoryReply]) -> Callable[..., MemoryReply]:
    """The same, with the version of the memory as ETag."""

    @functools.wraps(function)
    def versioned(*args: Any, response: Response, **kwargs: Any) -> MemoryReply:
        reply = function(*args, **kwargs)
        response.headers["ETag"] = f'"{reply.version}"'
        return reply

    signature = inspect.signature(function, eval_str=True)
    header = inspect.Parameter("response", inspect.Parameter.KEYWORD_ONLY, annotation=Response)
    versioned.__signature__ = signature.replace(parameters=[*signature.parameters.values(), header])  # type: ignore[attr-defined]
    return versioned
