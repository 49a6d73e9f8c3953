"""How many tokens a model may take for a reply of a given shape: a reply that runs on is not paid for without end."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from memshare_llm.chat import Reply, UselessReply
from memshare_llm.completion import read_completion

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


NUMBER, WORD, OVERHEAD = 12, 6, 200  # tokens: of a number, of a key or an option, of what stands around a reply
TEXT = 1_000  # characters of a text whose schema names no limit
CHARACTERS_PER_TOKEN = 2  # at the least, in most languages
ITEMS = 50  # of a list whose schema names no limit
DEPTH = 8  # of schemas that name themselves
INDENTED = 2  # times as long as JSON in one line
MOST = 16_000
REASONING = 8_000  # tokens more, for a model that has been seen to reason or to run into the limit


class ReplyLimit:
    """The limit of one model; threads share it."""

    def __init__(self) -> None:
        self._reasons = False
        self._refused = False

    def of(self, schema: type[BaseModel] | None) -> int | None:
        """The limit of a reply by this schema. None: it has none, or the server refuses one."""
        if schema is None or self._refused:
            return None
        return longest_reply(schema) + (REASONING if self._reasons else 0)

    def is_refused(self, words: str) -> bool:
        """True if a server's words refuse the limit; from then on there is none."""
        refused = "max_" in words
        self._refused |= refused
        return refused

    def read(self, model: str, body: str | bytes, schema: type[BaseModel] | None) -> Reply:
        """Read a completion, as `read_completion` does.

        From then on there is more room for a model that reasons, or that a limit has cut off within its answer.
        """
        try:
            reply = read_completion(model, body, structured=schema is not None)
        except UselessReply as error:
            self._reasons |= error.reason == "cut off" or error.usage.reasoning_tokens > 0
            raise
        self._reasons |= reply.usage.reasoning_tokens > 0
        return reply


@lru_cache(maxsize=128)
def longest_reply(schema: type[BaseModel]) -> int:
    """The tokens of the longest sensible reply by a schema."""
    form = schema.model_json_schema()
    return min(round(OVERHEAD + INDENTED * _tokens(form, form.get("$defs", {}), DEPTH)), MOST)


def _tokens(node: dict[str, Any], defs: dict[str, Any], depth: int) -> float:
    if "$ref" in node:
        return _tokens(defs[node["$ref"].removeprefix("#/$defs/")], defs, depth - 1) if depth else 0
    if options := node.get("anyOf") or node.get("oneOf"):
        return max(_tokens(one, defs, depth) for one in options)
    match node.get("type"):
        case "object":
            return sum(WORD + _tokens(one, defs, depth) for one in node.get("properties", {}).values())
        case "array":
            return float(node.get("maxItems", ITEMS)) * _tokens(node.get("items", {}), defs, depth)
        case "string" if not {"enum", "const"} & node.keys():
            return float(node.get("maxLength", TEXT)) / CHARACTERS_PER_TOKEN
        case "number" | "integer":
            return NUMBER
    return WORD
