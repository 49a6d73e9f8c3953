"""JSON and texts of others, read such that none of it is lost or made up in silence."""

from __future__ import annotations

import json
from typing import Any

from memshare_broker.errors import BadInput
from memshare_broker.wire.forms import one_line


def refuse_half_characters(value: object, what: str) -> None:
    """Raises `BadInput` where a text in a JSON value holds half a character (a lone surrogate): nothing can keep it.

    Python makes one of each byte of the command line that is not UTF-8, and of an escape such as `"\\ud83d"` in JSON.
    """
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError as error:
        code = ord(error.object[error.start])
        if 0xDC80 <= code <= 0xDCFF:
            raise BadInput(f"{what} holds the byte 0x{code - 0xDC00:02x}, which is not UTF-8.") from error
        raise BadInput(
            f"{what} holds half a character, \\u{code:04x} (a surrogate alone), which is no text."
        ) from error


def loads(text: str | bytes) -> Any:
    """The value of a JSON text. Raises `BadInput` that names a key that an object has twice, and for NaN or Infinity;
    what is no JSON at all raises `ValueError`, or `RecursionError`, as with `json.loads`.
    """
    return json.loads(text, object_pairs_hook=_object, parse_constant=_refuse)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in pairs:
        if name in made:
            raise BadInput(one_line(f"the key {name!r} stands twice in one object; expected each key once"))
        made[name] = value
    return made


def _refuse(constant: str) -> None:
    raise BadInput(f"{constant} is no JSON: expected a finite number")
