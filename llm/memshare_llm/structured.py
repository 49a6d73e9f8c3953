"""Asking a chat model for a value of a given shape."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from memshare_broker.errors import TryAgain
from memshare_broker.wire.messages import Turn, Usage
from memshare_llm.chat import Chat

T = TypeVar("T", bound=BaseModel)

MOST_CALLS = 2  # of `ask`
MAX_REASONS = 8
LONGEST_REASON = 2_000  # characters: a model may have named a field with a whole page

_FENCED = re.compile(r"\s*```(?:json)?\s*\n(.*)\n\s*```\s*", re.DOTALL | re.IGNORECASE)


class DoesNotFit(TryAgain):
    """A model was asked twice, and neither reply fitted the schema."""


class ReplyForm(BaseModel):
    """The parent of what models are asked to fill in: nothing stands in a reply that was not asked for."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True)
class Structured(Generic[T]):
    """A value that fits its schema, the model that gave it, and the tokens of all its calls."""

    value: T
    model: str
    usage: Usage


def ask(chat: Chat, turns: Sequence[Turn], schema: type[T]) -> Structured[T]:
    """A value of `schema` from a model; one that does not fit goes back once, with the reason.

    Raises `DoesNotFit` if the second does not fit either, and whatever the model raises.
    """
    first = chat.reply(turns, schema)
    try:
        return Structured(_read(first.text, schema), first.model, first.usage)
    except ValidationError as error:
        reason = _reason(error)
    correction = (
        Turn(role="assistant", content=first.text),
        Turn(
            role="user",
            content=f"This does not fit the schema: {reason}. Reply with the whole corrected JSON alone.",
        ),
    )
    second = chat.reply((*turns, *correction), schema)
    try:
        return Structured(_read(second.text, schema), second.model, first.usage + second.usage)
    except ValidationError as error:
        raise DoesNotFit(
            f"{second.model} was asked twice, and its reply did not fit {schema.__name__!r}: {_reason(error)}",
            reason="invalid reply",
        ) from error


def without_docstring(schema: dict[str, Any]) -> None:
    """Leave the docstring out of the JSON schema of a model, where it would be paid for with every call."""
    schema.pop("description", None)


def _read(text: str, schema: type[T]) -> T:
    fenced = _FENCED.fullmatch(text)
    return schema.model_validate_json(fenced[1] if fenced else text)


def _reason(error: ValidationError) -> str:
    reasons = [
        f"{'.'.join(map(str, each['loc'])) or 'the reply'}: {each['msg']}"
        for each in error.errors(include_url=False, include_input=False)
    ]
    if len(reasons) > MAX_REASONS:
        reasons[MAX_REASONS:] = [f"and {len(reasons) - MAX_REASONS} more"]
    return "; ".join(reasons)[:LONGEST_REASON]
