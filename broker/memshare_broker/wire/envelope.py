"""The contents of a queue, read so that nothing in them can stop a worker: kombu's envelope with Celery's task.

Whoever reaches Redis can push anything into a queue's list. kombu and Celery take it for what they wrote themselves,
and a list in place of an id ends the process. So it is checked against the forms below first.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any, Literal
from uuid import uuid4

from celery.app.task import Context
from kombu.utils.json import loads
from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError

from memshare_broker.wire.forms import Label, one_line, readable

UNREADABLE = "memshare_unreadable"
"""The header of an envelope that we put around what is none: why it cannot be read."""

_HALF_A_PAIR = re.compile(rb"\\u[dD][89a-fA-F]")  # may be one half of a character alone, which no text can hold


class UnreadableMessage(Exception):
    """This is no message that a worker can run; the text says why."""


class _Properties(BaseModel):
    """The properties of a message that kombu reads; others are left out."""

    delivery_tag: Label
    priority: int | None = None
    body_encoding: Literal["base64"] | None = None
    delivery_mode: int | None = None
    reply_to: str | None = None
    correlation_id: str | None = None


class _Envelope(BaseModel):
    body: str | None = None
    content_type: str | None = Field(default=None, alias="content-type")
    content_encoding: Literal["utf-8", "us-ascii", "binary"] | None = Field(default=None, alias="content-encoding")
    headers: dict[str, Any]
    properties: _Properties


class _Headers(BaseModel):
    """The headers of a task that Celery reads. Times are ISO 8601."""

    model_config = ConfigDict(extra="allow", allow_inf_nan=False)

    task: Label
    id: Label
    lang: str | None = None
    shadow: str | None = None
    eta: str | None = None
    expires: str | None = None
    group: str | None = None
    group_index: int | None = None
    retries: int | None = Field(default=0, ge=0, le=1_000_000)
    timelimit: tuple[float | None, float | None] | None = None
    root_id: str | None = None
    parent_id: str | None = None
    argsrepr: str | None = None
    kwargsrepr: str | None = None
    origin: str | None = None
    ignore_result: bool | None = None
    replaced_task_nesting: int | None = None
    stamped_headers: list[str] | None = None
    stamps: dict[str, JsonValue] | None = None
    memshare_signature: str | None = None


class _Embedded(BaseModel):
    """Celery's options for after a task. Any other field would stand in place of the task's own id or queue."""

    model_config = ConfigDict(extra="forbid")

    callbacks: JsonValue = None
    errbacks: JsonValue = None
    chain: JsonValue = None
    chord: JsonValue = None


_PAYLOAD: TypeAdapter[Any] = TypeAdapter(tuple[list[JsonValue], dict[str, JsonValue], _Embedded | None])


def read_envelope(raw: bytes, queue: str) -> dict[str, Any]:
    """Convert a queue item to a kombu message; wrap anything else in an envelope that states the error.

    Wherever the message says that it belongs, it belongs to the queue that it was found in.
    """
    found: object = None
    try:
        found = loads(raw.decode())
        envelope = _Envelope.model_validate(found)
        headers: dict[str, Any] = envelope.headers
        if "compression" in headers:
            raise UnreadableMessage("It is compressed; messages are taken as they are.")
        if isinstance(headers.get("id"), int):
            headers["id"] = str(headers["id"])
        if not isinstance(headers.get("id", ""), str) or not headers.get("id", "").isprintable():
            raise UnreadableMessage("Its id is no printable text.")
        if envelope.properties.body_encoding:
            base64.b64decode(envelope.body or "")
    except Exception as error:  # noqa: BLE001 - whatever it is, it is told with the message
        return _wrapped(raw, queue, _why(error), found)
    properties = envelope.properties.model_dump(exclude_unset=True)
    return {
        "body": envelope.body,
        "content-type": envelope.content_type,
        "content-encoding": envelope.content_encoding,
        "headers": headers,
        "properties": properties | {"delivery_info": {"exchange": "", "routing_key": queue}},
    }


def read_headers(headers: dict[str, Any]) -> dict[str, Any]:
    """The headers of a task as Celery can take them. Raises `UnreadableMessage`.

    Headers that Celery does not know pass, unless they would stand in place of what a task knows of itself.
    """
    if UNREADABLE in headers:
        raise UnreadableMessage(str(headers[UNREADABLE]))
    if "task" not in headers:
        raise UnreadableMessage("It is no Celery task (protocol 2): its headers name none.")
    try:
        known = _Headers.model_validate(headers)
        json.dumps(headers, ensure_ascii=False, default=repr).encode()
    except ValidationError as error:
        raise UnreadableMessage(readable(error, "Its headers")) from error
    except UnicodeEncodeError as error:
        raise UnreadableMessage("Its headers hold half a character (a surrogate alone).") from error
    others = {name: value for name, value in (known.model_extra or {}).items() if not hasattr(Context, name)}
    return known.model_dump(exclude_unset=True, include=set(_Headers.model_fields)) | others


def check_payload(payload: object, body: bytes) -> None:
    """Check what a task is called with, decoded and as it came: [arguments, named arguments, what follows].

    Raises `UnreadableMessage`.
    """
    try:
        _PAYLOAD.validate_python(payload, strict=False)
        if _HALF_A_PAIR.search(body):
            json.dumps(payload, ensure_ascii=False).encode()
    except ValidationError as error:
        raise UnreadableMessage(readable(error, "Its body")) from error
    except UnicodeEncodeError as error:
        raise UnreadableMessage(
            "Its body holds half a character (a surrogate alone), which no text can hold."
        ) from error


def _wrapped(raw: bytes, queue: str, why: str, found: object) -> dict[str, Any]:
    headers = found.get("headers") if isinstance(found, dict) else None
    named = headers.get("id") if isinstance(headers, dict) else None
    return {
        "body": base64.b64encode(raw).decode(),
        "content-type": "application/octet-stream",
        "content-encoding": "binary",
        "headers": {UNREADABLE: why} | ({"id": named} if is_id(named) else {}),
        "properties": {
            "delivery_tag": str(uuid4()),
            "delivery_info": {"exchange": "", "routing_key": queue},
            "body_encoding": "base64",
            "delivery_mode": 2,
        },
    }


def is_id(value: object) -> bool:
    """True if this value can name a message."""
    return isinstance(value, str) and 0 < len(value) <= 200 and value.isprintable()


def _why(error: Exception) -> str:
    if isinstance(error, UnreadableMessage):
        return str(error)
    if isinstance(error, ValidationError):
        return readable(error, "It is no message of Celery")
    return one_line(f"It is no message of Celery: {type(error).__name__}: {error}.")
