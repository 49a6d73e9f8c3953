"""A value that fits a JSON schema, always the same one."""

from __future__ import annotations

from typing import Any


def schema_value(schema: dict[str, Any]) -> Any:
    """Numbers are 90 % of their maximum."""
    return _value(schema, schema.get("$defs", {}))


def _value(node: dict[str, Any], defs: dict[str, Any]) -> Any:
    if "$ref" in node:
        return _value(defs[node["$ref"].removeprefix("#/$defs/")], defs)
    if "const" in node:
        return node["const"]
    if "enum" in node:
        return node["enum"][0]
    for variants in ("anyOf", "allOf"):
        if variants in node:
            return _value(node[variants][0], defs)
    match node.get("type"):
        case "object":
            return {name: _value(child, defs) for name, child in node.get("properties", {}).items()}
        case "array":
            return [_value(node["items"], defs)] * max(node.get("minItems", 1), 1)
        case "number" | "integer" as kind:
            number = max(0.9 * node.get("maximum", 1), node.get("minimum", 0))
            return int(number) if kind == "integer" else number
        case "boolean":
            return True
        case "null":
            return None
    return "placeholder"
