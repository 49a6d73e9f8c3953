"""Reading what others wrote: a value as one of our forms, or an error that says in one line what is wrong with it."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from memshare_broker.errors import BadInput

T = TypeVar("T", bound=BaseModel)
LONGEST_LINE = 500  # characters


def checked(form: type[T], what: str, /, **fields: Any) -> T:
    """The form with these fields; raises `BadInput` that names `what` was given and the field that does not fit."""
    try:
        return form.model_validate(fields)
    except ValidationError as error:
        raise BadInput(readable(error, what)) from error


def readable(error: ValidationError, what: str) -> str:
    """A validation error as one line: which field, what is wrong with it."""
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"])
    if first["type"] == "missing":
        return one_line(f"{what}: {field!r} is missing.")
    message = first["msg"].removeprefix("Value error, ")
    given = first["input"]
    not_this = f", not {given!r}" if isinstance(given, int | float) else ""
    return one_line(f"{what}: {field + ': ' if field else ''}{message}{not_this}.")


def one_line(text: str) -> str:
    """A text that others may have had a hand in, as one line that can be stored, logged and shown."""
    shown = "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text[: LONGEST_LINE + 1])
    return shown if len(shown) <= LONGEST_LINE else shown[: LONGEST_LINE - 1] + "…"


def refuse_too_long(limit: int, error: type[BadInput] = BadInput, /, **texts: str | None) -> None:
    """Raises the error for a text of more than `limit` characters: it could not be shown with a task."""
    for what, text in texts.items():
        if text is not None and len(text) > limit:
            found = f"The {what} has {len(text):,} characters; at most {limit:,} are taken."
            raise error(f"{found} Split it, or raise MEMSHARE_PROMPT_LIMIT.")
