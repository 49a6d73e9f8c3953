"""The forms of values that many messages have, such as names and moments, and reading what others wrote as one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, Field, GetCoreSchemaHandler, ValidationError
from pydantic_core import CoreSchema, core_schema

from memshare_broker.errors import BadInput
from memshare_broker.wire.same_text import is_blank

NAME = r"[a-z][a-z0-9_-]{0,40}"
"""The whole of a name, as a regular expression."""


@dataclass(frozen=True)
class InWords:
    """Words of what a pattern expects, after it: whoever gave something else reads these, and no regular expression."""

    expected: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        words = f"expected {self.expected}"
        return core_schema.custom_error_schema(handler(source), "expected", custom_error_message=words)


T = TypeVar("T", bound=BaseModel)
LONGEST_LINE = 500  # characters


def checked(form: type[T], what: str, /, **fields: Any) -> T:
    """The form with these fields; raises `BadInput` that names `what` was given and the field that does not fit."""
    try:
        return form.model_validate(fields)
    except ValidationError as error:
        raise BadInput(readable(error, what)) from error


OF_FIELD = {"missing": "is missing", "extra_forbidden": "is none of its fields"}
"""Type of an error of pydantic → what is wrong with a field, after its name."""


def readable(error: ValidationError, what: str) -> str:
    """A validation error as one line: which field, what is wrong with it."""
    first = error.errors()[0]
    *of, last = first["loc"] or ("",)
    is_item = isinstance(last, int)  # of a list, which the value tells better than its place
    field = ".".join(str(part) for part in (of if is_item else first["loc"]))
    if said := OF_FIELD.get(first["type"]):
        return one_line(f"{what}: {field!r} {said}.")
    message = first["msg"].removeprefix("Value error, ")
    given = first["input"]
    not_this = f", not {given!r}" if isinstance(given, int | float) or (is_item and isinstance(given, str)) else ""
    return one_line(f"{what}: {field + ': ' if field else ''}{message}{not_this}.")


def one_line(text: str) -> str:
    """A text that others may have had a hand in, as one line that can be stored, logged and shown."""
    shown = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text[: LONGEST_LINE + 1])
    return shown if len(shown) <= LONGEST_LINE else shown[: LONGEST_LINE - 1] + "…"


def refuse_too_long(limit: int, error: type[BadInput] = BadInput, /, **texts: str | None) -> None:
    """Raises the error for a text of more than `limit` characters: it could not be shown with a task."""
    for what, text in texts.items():
        if text is not None and len(text) > limit:
            found = f"The {what} has {len(text):,} characters; at most {limit:,} are taken."
            raise error(f"{found} Split it, or raise MEMSHARE_PROMPT_LIMIT.")


LONGEST_LABEL = 200  # characters
LATEST = 253_402_300_799.0  # the last second of the year 9999, after which there is no date


def _label(text: str) -> str:
    if not text.strip():
        raise ValueError("expected a name, found an empty text")
    if len(text) > LONGEST_LABEL:
        raise ValueError(f"expected a name of up to {LONGEST_LABEL} characters, found {len(text):,}")
    if not text.isprintable():
        wrong = next(sign for sign in text if not sign.isprintable())
        raise ValueError(f"expected a name of printable characters, found {wrong!a} in it")
    return text


Label = Annotated[str, AfterValidator(_label)]
"""The name of a pool, an agent, a kind or a submitter: not empty, printable, up to 200 characters."""


def _written(text: str) -> str:
    if is_blank(text):
        raise ValueError("it is empty")
    return text


Written = Annotated[str, AfterValidator(_written)]
"""A text with something to be seen in it."""

Moment = Annotated[float, Field(ge=0, le=LATEST)]
"""Unix time in seconds, such that it is a date."""

Percent = Annotated[float, Field(ge=0, le=100)]
Share = Annotated[float, Field(ge=0, le=1)]


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
