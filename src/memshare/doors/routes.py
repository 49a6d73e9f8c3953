"""A route for each call of the table."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any, get_args, get_origin

from fastapi import APIRouter, Depends, Header, Path, Query, Response
from fastapi.datastructures import Default
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from memshare.client.rest.call import Call
from memshare.client.rest.calls.journeys import JourneyReply
from memshare.client.rest.calls.memories import MemoryReply
from memshare.doors.authentication import BackendNow, CallerNow
from memshare.doors.problems import RESPONSES
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller
from memshare.operations.forms import Key
from memshare.operations.journeys import JourneyId, own_journey
from memshare.operations.serving import BODIES, form_of, served

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
