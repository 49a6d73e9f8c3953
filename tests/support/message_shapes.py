"""Items of a queue's list as nobody should write them: a task's message with one thing wrong, or no message at all."""

from __future__ import annotations

import base64
import copy
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

SEED = 13

# What may stand in place of any field.
STRANGE: tuple[Any, ...] = (
    None, "", "x", " ", "0", "-1", "\ud83d", "a\nb", "\x00", "\x1b]0;x\x07", "é" * 300, 0, 1, -1, 10**400, 1.5,
    float("nan"), float("inf"), True, False, [], [None], [[]], {}, {"a": 1}, {"__type__": "uuid", "__value__": "x"},
    {"__type__": "datetime", "__value__": 1}, {"__type__": "bytes", "__value__": 2}, "2026-13-45T99:99",
    "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+14:00", "2020-01-01T00:00:00+00:00",
)  # fmt: skip
HEADERS = (
    "task", "id", "root_id", "parent_id", "group", "group_index", "retries", "timelimit", "eta", "expires", "shadow",
    "argsrepr", "kwargsrepr", "origin", "lang", "ignore_result", "replaced_task_nesting", "stamped_headers", "stamps",
    "compression", "get", "delivery_info", "called_directly", "headers", "update", "traceparent", "memshare_due",
    "memshare_unreadable", "memshare_signature", "callbacks", "chain",
)  # fmt: skip
PROPERTIES = (
    "delivery_tag", "delivery_info", "priority", "body_encoding", "correlation_id", "reply_to", "delivery_mode",
    "memshare_acknowledged", "consumer_tag",
)  # fmt: skip
ENVELOPE = ("body", "headers", "properties", "content-type", "content-encoding")
EMBEDDED = ("callbacks", "errbacks", "chain", "chord", "id", "delivery_info", "get", "task")
TASKS = ("celery.backend_cleanup", "celery.map", "celery.chord_unlock", "agents.nobody", "scorer.score", "poem")


@dataclass(frozen=True)
class Shape:
    """One item; `mark` is a text that it has in it wherever there is room for one."""

    mark: str
    raw: bytes


def shapes(count: int, queue: str, task: str) -> list[Shape]:
    """So many shapes, the same ones every time."""
    chance = random.Random(SEED)
    every = list(_variants())
    chance.shuffle(every)
    return [_shape(number, make, queue, task) for number, make in enumerate(every[:count])]


def good(mark: str, queue: str, task: str) -> dict[str, Any]:
    """A message as Celery writes it."""
    return {
        "shape": mark,
        "body": [[{"prompt": mark}], {}, {"callbacks": None, "errbacks": None, "chain": None, "chord": None}],
        "content-encoding": "utf-8",
        "content-type": "application/json",
        "headers": {
            "lang": "py", "task": task, "id": mark, "shadow": None, "eta": None, "expires": None, "group": None,
            "group_index": None, "retries": 0, "timelimit": [None, None], "root_id": mark, "parent_id": None,
            "argsrepr": "…", "kwargsrepr": "{}", "origin": "x@y", "ignore_result": False, "shape": mark,
        },
        "properties": {
            "correlation_id": mark, "reply_to": "r", "delivery_mode": 2, "priority": 0, "body_encoding": "base64",
            "delivery_info": {"exchange": "", "routing_key": queue}, "delivery_tag": mark,
        },
    }  # fmt: skip


def encoded(message: Any) -> bytes:
    """The item in Redis; a body that is no text yet becomes JSON in base64."""
    if isinstance(message, dict) and isinstance(message.get("body"), list):
        message = message | {"body": base64.b64encode(json.dumps(message["body"]).encode()).decode()}
    return json.dumps(message).encode()


def _shape(number: int, make: Any, queue: str, task: str) -> Shape:
    mark = f"shape-{queue}-{number:04}"
    made = make(good(mark, queue, task))
    return Shape(mark, made if isinstance(made, bytes) else encoded(made))


def _variants() -> Iterator[Any]:
    for value in STRANGE:
        for name in ENVELOPE:
            yield _setting((name,), value)
        for name in HEADERS:
            yield _setting(("headers", name), value)
        for name in PROPERTIES:
            yield _setting(("properties", name), value)
        for name in EMBEDDED:
            yield _setting(("body", 2, name), value)
        for place in (("body", 0), ("body", 1), ("body", 2), ("body", 0, 0), ("body", 0, 0, "prompt")):
            yield _setting(place, value)
        yield lambda message, value=value: encoded([value, message["shape"]])
        yield lambda message, value=value: _with_body(message, json.dumps(value).encode())
    for name in ENVELOPE:
        yield lambda message, name=name: {key: value for key, value in message.items() if key != name}
    for part, names in (("headers", HEADERS), ("properties", PROPERTIES)):
        for name in names:
            yield lambda message, part=part, name=name: message | {part: _without(message[part], name)}
    for name in TASKS:
        yield _setting(("headers", "task"), name)
    for length in range(4, 400, 40):
        yield lambda message, length=length: encoded(message)[:length]
    for depth in (50, 300, 900, 5_000):
        yield lambda message, depth=depth: _with_body(message, b"[" * depth + b"]" * depth)
        yield lambda message, depth=depth: encoded(message)[:-1] + b',"x":' + b"[" * depth + b"]" * depth + b"}"
    for text in (
        b"",
        b"\xff\xfe\x00",
        b"caf\xe9 ",
        b"null",
        b"{}",
        b"[]",
        b"[1,2,3,4]",
        b'"text"',
        b"0",
        b"NaN",
        b"\x00",
    ):
        yield lambda message, text=text: text + message["shape"].encode() if text[:1] not in b'n{["0N' else text
        yield lambda message, text=text: _with_body(message, text)
    for text in ("e30=", "====", "e30", "💥", "bm90IGpzb24="):
        yield _setting(("body",), text)
    for text in ("utf-16", "zlib_codec", "rot13", "nothing", "base64"):
        yield _setting(("content-encoding",), text)
    for text in ("application/x-python-serialize", "application/data", "text/plain", "application/x-yaml", "nothing"):
        yield _setting(("content-type",), text)
    for text in ("gzip", "zlib", "bzip2", "brotli", "nothing"):
        yield _setting(("headers", "compression"), text)


def _setting(place: tuple[Any, ...], value: Any) -> Any:
    def make(message: dict[str, Any]) -> dict[str, Any]:
        made = copy.deepcopy(message)
        into: Any = made
        for step in place[:-1]:
            into = into[step]
        into[place[-1]] = value
        return made

    return make


def _without(values: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key != name}


def _with_body(message: dict[str, Any], body: bytes) -> dict[str, Any]:
    return message | {"body": base64.b64encode(body).decode()}
