"""A criterion: one thing that is graded, and the points it can earn."""

from __future__ import annotations

import re
from math import ceil
from typing import Annotated, Any

from pydantic import AfterValidator, Field, StringConstraints, field_validator, model_validator

from memshare_broker.toml_files import TomlForm
from memshare_broker.wire.messages import Name

POINTS = 100  # that the criteria of a rubric sum to
LONGEST = 2000  # characters of a text
FEWEST_WHOLE = 5  # points of a criterion whose bands are whole points


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
    StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST),
    AfterValidator(_printable),
]
Identifier = Annotated[str, AfterValidator(_identifier)]


class Bands(TomlForm):
    """What earns all, most, a part or none of a criterion's points."""

    full: Text
    most: Text
    part: Text
    none: Text

    def with_points(self, points: int) -> Bands:
        """The bands with the points that each earns before its words, such as "15–24: …" of 25 points."""
        ranges = band_points(points)
        return Bands(**{name: f"{ranges[name]}: {text}"[:LONGEST] for name, text in self})


PLAIN_BANDS = Bands(
    full="all that the description asks for",
    most="most of it, with small faults",
    part="a part of it, with great faults",
    none="nothing of it, or another thing",
)


def band_points(points: int) -> dict[str, str]:
    """The points of each band of a criterion: 25 points are 25, 15–24, 5–14 and 0–4 (INMS, arXiv 2404.09982).

    The borders are at three fifths and one fifth; of fewer than five points the bands go by tenths.
    """
    step = 1 if points >= FEWEST_WHOLE else 0.1
    most, part = (_up(points * share, step) for share in (0.6, 0.2))
    lows_and_highs = {"most": (most, points - step), "part": (part, most - step), "none": (0, part - step)}
    return {"full": f"{points}"} | {
        name: f"{low:g}–{high:g}" if round(high - low, 1) else f"{low:g}"
        for name, (low, high) in lows_and_highs.items()
    }


def _up(points: float, step: float) -> float:
    """The next multiple of a step."""
    return round(ceil(round(points / step, 6)) * step, 1)


class Limits(TomlForm):
    """What one run of a check may take."""

    seconds: float = Field(default=10.0, gt=0, le=120)
    megabytes: int = Field(default=512, ge=64)


class Criterion(TomlForm):
    """One thing that is graded, by a model or by a program, and the points it can earn."""

    name: Identifier
    points: int = Field(ge=1, le=POINTS)
    description: Text
    kinds: tuple[Name, ...] | None = Field(default=None, min_length=1)
    """The kinds it applies to; None: all of them, and tasks without a kind."""
    bands: Bands | None = None
    check: str | tuple[str, ...] | None = None
    """The program that gives the points: MODULE:FUNCTION or a command. None: a model does."""
    options: dict[str, Any] | None = None
    """What the check is called with beside prompt and answer."""
    check_limits: Limits | None = None

    @field_validator("check")
    @classmethod
    def _names_a_program(cls, check: str | tuple[str, ...] | None) -> str | tuple[str, ...] | None:
        if isinstance(check, str) and not re.fullmatch(r"[\w.]+:\w+", check):
            raise ValueError(f"expected MODULE:FUNCTION, or a command as a list of strings, not {check!r}")
        if isinstance(check, tuple) and not (check and check[0]):
            raise ValueError('a command has a program: write it as ["PROGRAM", "ARGUMENT"]')
        return check

    @model_validator(mode="after")
    def _has_what_its_grader_needs(self) -> Criterion:
        if self.check is None and (self.options is not None or self.check_limits is not None):
            raise ValueError("options and check_limits are of a check: add check, or leave them out")
        if self.check is not None and self.bands is not None:
            raise ValueError("bands are for a model, and a check gives these points: leave out one of them")
        return self

    def __hash__(self) -> int:
        return hash((self.name, self.points))  # options cannot be hashed

    @property
    def limits(self) -> Limits:
        return self.check_limits or Limits()

    @property
    def explanation(self) -> str:
        """The description, with the bands where there are some: what the grader reads."""
        if self.bands is None:
            return self.description
        bands = " ".join(f"{name.capitalize()}: {text}" for name, text in self.bands)
        return f"{self.description} {bands}"

    def banded(self) -> Bands:
        """The bands with the points that each is worth; plain ones where there are none."""
        return (self.bands or PLAIN_BANDS).with_points(self.points)

    @property
    def graded_by(self) -> str:
        """The explanation, and the program that gives the points where one does: what a person reads."""
        if self.check is None:
            return self.explanation
        program = self.check if isinstance(self.check, str) else " ".join(self.check)
        options = "".join(f" {name}={value!r}" for name, value in (self.options or {}).items())
        return f"{self.explanation} Checked by {program}{options}"
