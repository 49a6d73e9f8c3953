from __future__ import annotations

from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from memshare_llm.providers.reply_limit import schema_name, strict_schema


class Step(BaseModel):
    """One step."""

    title: str = Field(min_length=1)
    share: float = Field(default=0.5, ge=0, le=1)


class Route(BaseModel):
    default: Literal["a", "b"] = "a"
    first: Annotated[Step, Field(description="Where it begins.")]
    rest: list[Step] = Field(default=[], max_length=3)
    note: str | None = None


class Free(BaseModel):
    anything: dict[str, int]


def test_every_property_is_required_and_no_further_one_is_allowed() -> None:
    schema = strict_schema(Route)

    assert schema["required"] == ["default", "first", "rest", "note"]
    assert schema["additionalProperties"] is False
    assert schema["$defs"]["Step"]["required"] == ["title", "share"]
    assert schema["$defs"]["Step"]["additionalProperties"] is False


def test_bounds_of_numbers_and_lists_are_kept_and_defaults_are_not() -> None:
    share = strict_schema(Route)["$defs"]["Step"]["properties"]["share"]

    assert (share["minimum"], share["maximum"]) == (0, 1)
    assert "default" not in share
    assert strict_schema(Route)["properties"]["rest"]["maxItems"] == 3
    assert "minLength" not in strict_schema(Route)["$defs"]["Step"]["properties"]["title"]


def test_a_property_may_be_named_like_a_keyword() -> None:
    schema = strict_schema(Route)

    assert schema["properties"]["default"]["enum"] == ["a", "b"]
    assert schema["$defs"]["Step"]["properties"]["title"]["type"] == "string"


def test_a_reference_with_a_description_is_replaced_by_what_it_names() -> None:
    first = strict_schema(Route)["properties"]["first"]

    assert "$ref" not in first
    assert first["description"] == "Where it begins."
    assert first["required"] == ["title", "share"]
    assert strict_schema(Route)["properties"]["rest"]["items"] == {"$ref": "#/$defs/Step"}


def test_free_keys_are_refused() -> None:
    with pytest.raises(ValueError, match="'Anything' has free keys"):
        strict_schema(Free)


def test_a_schemas_name_has_only_what_providers_take() -> None:
    named = type("Grades of a poem: " + "x" * 80, (Route,), {})

    assert schema_name(named).startswith("Grades_of_a_poem__xx")
    assert len(schema_name(named)) == 64
