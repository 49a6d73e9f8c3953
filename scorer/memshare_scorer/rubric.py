"""A rubric: the criteria by which the pairs of a domain are graded, and who approved them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from datetime import date
from functools import lru_cache
from math import ceil
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints, field_validator, model_validator

from memshare_broker.errors import BadInput
from memshare_broker.toml_files import TomlForm, load
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
    """Descriptions of what earns all, most, a part or none of a criterion's points."""

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
    """Limits of one run of a check."""

    seconds: float = Field(default=10.0, gt=0, le=120)
    megabytes: int = Field(default=512, ge=64)


class Criterion(TomlForm):
    """A property that is graded, by a model or by a program, and the points it can earn."""

    name: Identifier
    points: int = Field(ge=1, le=POINTS)
    description: Text
    kinds: tuple[Name, ...] | None = Field(default=None, min_length=1)
    """The kinds it applies to; None: all of them, and tasks without a kind."""
    bands: Bands | None = None
    check: str | tuple[str, ...] | None = None
    """The program that gives the points: MODULE:FUNCTION or a command. None: a model does."""
    options: dict[str, Any] | None = None
    """Arguments of the check beside prompt and answer."""
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


WITHOUT_SEEDS = 81.0  # the mean score of the paper's own seeds

BUNDLED = Path(__file__).parent / "rubrics"
SUFFIX = ".rubric.toml"  # of a rubric in the user's folder
MEAN_OF_SEEDS: Literal["mean-of-seeds"] = "mean-of-seeds"


class UnknownRubric(BadInput):
    """There is no rubric of a name."""


class Approval(TomlForm):
    """Who approved a rubric and when, the version that was approved, and the name of the rubric."""

    by: Text
    on: date
    version: str
    rubric: str | None = None
    """None: any, as it is not noted."""


class Rubric(TomlForm):
    """Criteria whose points sum to 100. Name and folder are the file's, and are not written in it."""

    name: str = ""
    folder: Path = Field(default=Path(), exclude=True)
    """Where the file lies; checks run there."""
    domain: Text
    threshold: float | Literal["mean-of-seeds"] = 81.0
    """The total from which a pair is remembered, or the mean total of its pool's seeds."""
    criteria: tuple[Criterion, ...] = Field(min_length=1, max_length=40)
    approval: Approval | None = None

    @field_validator("threshold", mode="before")
    @classmethod
    def _number_or_mean(cls, value: Any) -> Any:
        number = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= POINTS
        if not number and value != MEAN_OF_SEEDS:
            raise ValueError(f"expected a number from 0 to {POINTS} or {MEAN_OF_SEEDS!r}, not {value!r}")
        return value

    @field_validator("criteria")
    @classmethod
    def _add_up(cls, criteria: tuple[Criterion, ...]) -> tuple[Criterion, ...]:
        names = [criterion.name for criterion in criteria]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"each criterion has a name of its own, but {twice[0]!r} comes again")
        if (points := sum(criterion.points for criterion in criteria)) != POINTS:
            raise ValueError(f"the points of all criteria must sum to {POINTS}, not {points}")
        if all(criterion.kinds for criterion in criteria):
            raise ValueError("one criterion at least must apply to all kinds: take its 'kinds' away")
        return criteria

    @property
    def version(self) -> str:
        """The first 12 hex digits of the SHA-256 of what decides a grade: the domain and the criteria.

        The threshold is left out. It decides what is remembered: moving it changes neither what a score
        means nor what was approved.
        """
        return _version(self.domain, self.criteria)

    @property
    def approved(self) -> bool:
        """True if a person approved this very content, under this name: a copy is not approved."""
        return self.approval is not None and self.approval.version == self.version and not self.is_copy

    @property
    def is_copy(self) -> bool:
        """True if the approval in the file is of a rubric of another name."""
        return self.approval is not None and self.approval.rubric not in (None, self.name)

    def for_kind(self, kind: str | None) -> tuple[Criterion, ...]:
        """The criteria that apply to a kind, in the rubric's order; never none."""
        return tuple(one for one in self.criteria if one.kinds is None or kind in one.kinds)


@lru_cache(maxsize=100)
def _version(domain: str, criteria: tuple[Criterion, ...]) -> str:
    content = {"domain": domain, "criteria": [one.model_dump(mode="json", exclude_none=True) for one in criteria]}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def rubric_files(agents_dir: Path | None) -> dict[str, Path]:
    """Every rubric's file by its name, the user's before a bundled one of that name."""
    files = {file.name.removesuffix(".toml"): file for file in BUNDLED.glob("*.toml")}
    if agents_dir:
        files |= {file.name.removesuffix(SUFFIX): file for file in agents_dir.glob(f"*{SUFFIX}")}
    return dict(sorted(files.items()))


def find_rubric(name: str, agents_dir: Path | None) -> Rubric:
    """The rubric of a name, as its file is now; raises `BadInput` when there is none or it is broken."""
    plain = Path(name).name == name  # a message's name must not lead to another folder
    folders = [(agents_dir, SUFFIX)] if agents_dir else []
    for folder, suffix in [*folders, (BUNDLED, ".toml")]:
        file = folder / f"{name}{suffix}"
        if plain and file.is_file():
            return read_rubric(file)
    raise UnknownRubric(f"Unknown rubric {name!r}: expected one of {', '.join(rubric_files(agents_dir))}.")


def all_rubrics(agents_dir: Path | None) -> dict[str, Rubric]:
    """Every rubric by its name; raises `BadInput` when one is broken."""
    return {name: read_rubric(file) for name, file in rubric_files(agents_dir).items()}


def read_rubric(file: Path) -> Rubric:
    """The rubric in NAME.toml or NAME.rubric.toml, read again once the file has changed."""
    try:
        status = file.stat()
    except OSError as error:
        raise BadInput(f"{file}: cannot be read: {error.strerror or error}.") from error
    return _read(file, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=256)
def _read(file: Path, _mtime_ns: int, _size: int) -> Rubric:
    name = file.name.removesuffix(".toml").removesuffix(".rubric")
    return load(file, Rubric).model_copy(update={"name": name, "folder": file.parent.absolute()})


SeedsMean = Callable[[str], float | None]
"""The mean total of a pool's seeds, the pairs it was begun with; None while it has none."""


def without_seeds(_pool: str) -> None:
    """The mean by which seeds themselves are judged, always None: if their own mean counted, so would their order."""


def threshold_for(rubric: Rubric, pool: str, seeds_mean: SeedsMean) -> float:
    """The rubric's number; with "mean-of-seeds" the mean of the pool's seeds, and 81 while there are none."""
    if rubric.threshold != MEAN_OF_SEEDS:
        return float(rubric.threshold)
    mean = seeds_mean(pool)
    return WITHOUT_SEEDS if mean is None else mean
