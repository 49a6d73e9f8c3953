"""How a chat model is asked for a value of a given shape.

Our instructions stand in the system turn, and texts of others as data in one JSON document.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from memshare_broker.errors import GiveUp, MemshareError, TryAgain
from memshare_broker.wire.messages import Turn, Usage
from memshare_llm.chat import Chat, Reply


def conversation(instructions: str, document: object) -> tuple[Turn, Turn]:
    """The two turns of a question; `document` is what JSON can say, and everything in it is quoted."""
    return (
        Turn(role="system", content=instructions),
        Turn(role="user", content=json.dumps(document, ensure_ascii=False)),
    )


def bounded(text: str, longest: int) -> str:
    """The beginning of a text that is too long to be quoted."""
    return text if len(text) <= longest else f"{text[:longest]} […]"


def quoted_pair(prompt: str | None, answer: str, longest: int) -> dict[str, str | None]:
    """A prompt and its answer as a document has them, each of at most so many characters."""
    return {"prompt": prompt and bounded(prompt, longest), "answer": bounded(answer, longest)}


T = TypeVar("T", bound=BaseModel)

MOST_CALLS = 2  # of `ask`
MAX_REASONS = 8
LONGEST_REASON = 2_000  # characters: a model may have named a field with a whole page
MOST_OBJECTS = 50  # in a reply, that are tried

_DECODER = json.JSONDecoder()


class DoesNotFit(MemshareError):
    """A model was asked twice, and neither reply fitted the schema."""


class DoesNotFitNow(DoesNotFit, TryAgain):
    """It made two different mistakes: another try may do."""


class NeverFits(DoesNotFit, GiveUp):
    """It made the same mistake twice: it would again."""


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

    Raises `NeverFits` if the second does not fit for the same reason, `DoesNotFitNow` for another one, and whatever
    the model raises.
    """
    first = chat.reply(turns, schema)
    try:
        return Structured(_read(first, schema), first.model, first.usage)
    except ValidationError as error:
        reason = _reason(error)
    correction = (
        Turn(role="assistant", content=first.text or first.reasoning[-LONGEST_REASON:]),
        Turn(
            role="user",
            content=f"This does not fit the schema: {reason}. Reply with the whole corrected JSON alone.",
        ),
    )
    second = chat.reply((*turns, *correction), schema)
    try:
        return Structured(_read(second, schema), second.model, first.usage + second.usage)
    except ValidationError as error:
        words = f"{second.model} was asked twice, and its reply did not fit: {_reason(error)}"
        if _reason(error) == reason:
            raise NeverFits(words, "invalid reply") from error
        raise DoesNotFitNow(words, reason="invalid reply") from error


def without_docstring(schema: dict[str, Any]) -> None:
    """Leave the docstring out of the JSON schema of a model, where it would be paid for with every call."""
    schema.pop("description", None)


def fits(reply: Reply, schema: type[BaseModel] | None) -> bool:
    """True if a reply has the value that was asked for."""
    try:
        return schema is None or bool(_read(reply, schema))
    except ValidationError:
        return False


def _read(reply: Reply, schema: type[T]) -> T:
    """The value in a reply, wherever it stands: in a fence, within prose, in the reasoning. Of several the last one.

    Raises the `ValidationError` of the answer where it begins as an object or has none, else that of its last object.
    """
    misfits: list[ValidationError] = []
    for found in (reply.text, *reversed(_objects(reply.text)), *reversed(_objects(reply.reasoning))):
        try:
            return schema.model_validate_json(found)
        except ValidationError as error:
            misfits.append(error)
    raise misfits[0] if reply.text.lstrip().startswith("{") else misfits[:2][-1]


def _objects(text: str) -> list[str]:
    """The JSON objects in a text, as they stand there."""
    found: list[str] = []
    end = 0
    for begin in islice(re.finditer(r"\{", text), MOST_OBJECTS):
        if begin.start() >= end:
            try:
                _, end = _DECODER.raw_decode(text, begin.start())
            except (ValueError, RecursionError):
                continue
            found.append(text[begin.start() : end])
    return found


def _reason(error: ValidationError) -> str:
    reasons = [
        f"{'.'.join(map(str, each['loc'])) or 'the reply'}: {each['msg']}"
        for each in error.errors(include_url=False, include_input=False)
    ]
    if len(reasons) > MAX_REASONS:
        reasons[MAX_REASONS:] = [f"and {len(reasons) - MAX_REASONS} more"]
    return "; ".join(reasons)[:LONGEST_REASON]
