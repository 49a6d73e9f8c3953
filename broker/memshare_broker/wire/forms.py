"""The forms of values that many messages have: the name of a pool or a person, a moment, a share."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from memshare_broker.wire.same_text import is_blank

LONGEST_LABEL = 200  # characters
LATEST = 253_402_300_799.0  # the last second of the year 9999, after which there is no date


def _label(text: str) -> str:
    if not text.strip():
        raise ValueError("expected a name, found an empty text")
    if len(text) > LONGEST_LABEL:
        raise ValueError(f"expected a name of up to {LONGEST_LABEL} characters, found {len(text):,}")
    if not text.isprintable():
        wrong = next(one for one in text if not one.isprintable())
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
