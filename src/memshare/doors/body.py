"""The body of a request: no larger than is taken, in UTF-8, of whole characters, and with each key once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from starlette.types import Message, Receive

from memshare.client.errors import TooLarge, TooManyRequests
from memshare_broker.errors import BadInput
from memshare_broker.wire.strict_json import loads

LARGEST_BODY = 2**20  # bytes
MOST_UNFINISHED = 32 * 2**20  # bytes of one caller

_MAY_BE_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
_HALF = re.compile("[\ud800-\udfff]")


class Gone(Exception):
    """Who asked has gone before all was sent."""


class Bodies:
    """Reads bodies, and bounds what it holds of those of one caller that have not come to their end."""

    def __init__(self) -> None:
        self._unfinished: Counter[str] = Counter()
        """Bytes by the name of the caller."""

    async def read(self, receive: Receive, name: str) -> bytes:
        """The body; raises `TooLarge` or `TooManyRequests` as soon as it is, `BadInput` for no text, or `Gone`."""
        body = bytearray()
        counted = 0
        try:
            while await _read_part(receive, body):
                self._unfinished[name] += len(body) - counted
                counted = len(body)
                if self._unfinished[name] > MOST_UNFINISHED:
                    raise TooManyRequests(
                        f"More than {MOST_UNFINISHED:,} bytes of requests of {name!r} have not come to their end: send "
                        "fewer large ones at once.",
                        wait=1,
                    )
        finally:
            self._unfinished[name] -= counted
        _require_text(bytes(body))
        return bytes(body)


async def _read_part(receive: Receive, body: bytearray) -> bool:
    """Add what has come to a body; whether there is more to come."""
    message = await receive()
    if message["type"] != "http.request":
        raise Gone
    body += message.get("body", b"")
    if len(body) > LARGEST_BODY:
        raise TooLarge(f"The request is larger than {LARGEST_BODY:,} bytes: send less at once.")
    return bool(message.get("more_body", False))


def with_body(body: bytes, receive: Receive) -> Receive:
    """What an app receives when the body was read before."""
    is_read = False

    async def whole() -> Message:
        nonlocal is_read
        if is_read:
            return await receive()
        is_read = True
        return {"type": "http.request", "body": body, "more_body": False}

    return whole


def _require_text(body: bytes) -> None:
    """Raise `BadInput` that names the byte, or the field, that is no text, or the key that an object has twice.

    What is no JSON is left to who reads it.
    """
    try:
        body.decode()
    except UnicodeDecodeError as error:
        raise BadInput(f"The request cannot be read: byte {error.start} of its body is not UTF-8.") from error
    try:
        value = loads(body)
        wrong = next(_half_characters(value, "body"), None) if _MAY_BE_HALF.search(body) else None
    except BadInput as error:
        raise BadInput(f"The request cannot be read: {error}.") from error
    except (ValueError, RecursionError):
        return
    if wrong is not None:
        raise BadInput(f"The request cannot be read: {wrong} (a surrogate alone), which is no text.")


def _half_characters(value: Any, place: str) -> Iterator[str]:
    """Where half characters are in a JSON value."""
    if isinstance(value, str):
        if half := _HALF.search(value):
            yield f"{ascii(place)[1:-1]} holds half a character, {half[0]!a}"
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _half_characters(name, f"a name in {place}")
            yield from _half_characters(inner, f"{place}.{name}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _half_characters(inner, f"{place}.{number}")
