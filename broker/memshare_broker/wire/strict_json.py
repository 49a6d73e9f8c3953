"""JSON of others, read such that none of it is lost or made up in silence."""

from __future__ import annotations

import json
from typing import Any

from memshare_broker.errors import BadInput
from memshare_broker.wire.forms import one_line


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
