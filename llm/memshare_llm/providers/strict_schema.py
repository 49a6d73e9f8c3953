"""A pydantic model as the JSON schema that providers take in strict mode."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

# Strict mode refuses these, or the defaults would contradict it; pydantic still checks them on receipt. Titles repeat
# names, and are paid for with every call.
_LEFT_OUT = {"title", "default", "examples", "discriminator", "uniqueItems", "minLength", "maxLength"}


@lru_cache(maxsize=128)
def strict_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The schema of `model`: every property required, no further ones, minimum and maximum kept.

    Raises `ValueError` for what strict mode cannot say: a field that is a dict with free keys.
    """
    schema = model.model_json_schema()
    strict: dict[str, Any] = _strict(schema, schema.get("$defs", {}))
    return strict


def schema_name(model: type[BaseModel]) -> str:
    """A name for the schema of the characters and the length that providers take."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", model.__name__)[:64]


def _strict(node: Any, defs: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_strict(item, defs) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node and len(node) > 1:
        # A reference may have no neighbours, so what it names takes its place.
        referred = defs[node["$ref"].removeprefix("#/$defs/")]
        return _strict({**referred, **{key: value for key, value in node.items() if key != "$ref"}}, defs)
    strict: dict[str, Any] = {}
    for key, value in node.items():
        if key in {"properties", "$defs"}:
            strict[key] = {name: _strict(child, defs) for name, child in value.items()}
        elif key in {"enum", "const"}:
            strict[key] = value
        elif key not in _LEFT_OUT:
            strict["anyOf" if key == "oneOf" else key] = _strict(value, defs)
    if node.get("type") == "object":
        if node.get("additionalProperties"):
            raise ValueError(f"{node.get('title')!r} has free keys: give it named fields, or make it a list.")
        strict["additionalProperties"] = False
        strict.setdefault("properties", {})
        strict["required"] = list(strict["properties"])
    return strict
