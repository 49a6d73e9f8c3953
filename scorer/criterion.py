"""A criterion: one thing that is graded, and the points it can earn."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from memshare.broker.wire.messages import Name

POINTS = 100  # that the criteria of a rubric sum to


def _printable(text: str) -> str:
    text = " ".join(text.split())
    if not text.isprintable():
        raise ValueError("the text has characters that cannot be printed")
    return text


def _identifier(name: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,60}", name):
        raise ValueError(f"expected a name such as 'rhyme_scheme', not {name!r}")
    return name


Text = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=2000),
    AfterValidator(_printable),
]
Identifier = Annotated[str, AfterValidator(_identifier)]


class Bands(BaseModel):
    """What earns all, most, a part or none of a criterion's points."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    full: Text
    most: Text
    part: Text
    none: Text


class Criterion(BaseModel):
    """One thing that is graded, and the points it can earn."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Identifier
    points: int = Field(ge=1, le=POINTS)
    description: Text
    kinds: tuple[Name, ...] | None = Field(default=None, min_length=1)
    """The kinds it applies to; None: all of them, and tasks without a kind."""
    bands: Bands | None = None

    @property
    def explanation(self) -> str:
        """The description, with the bands where there are some: what the grader reads."""
        if self.bands is None:
            return self.description
        bands = " ".join(f"{name.capitalize()}: {text}" for name, text in self.bands)
        return f"{self.description} {bands}"
