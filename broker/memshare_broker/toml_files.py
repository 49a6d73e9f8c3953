"""TOML files as pydantic models; what is wrong with a file is said in one line: `FILE:LINE: reason`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from memshare_broker.errors import BadInput

T = TypeVar("T", bound=BaseModel)
Place = tuple[str | int, ...]

_SHOWN = 60  # characters of a wrong value
NEAR = 0.7  # how alike a name is to the one that was meant
_NAME = r"""(?:"[^"]*"|'[^']*'|[\w-]+)"""
_DOTTED = rf"{_NAME}(?:\s*\.\s*{_NAME})*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_DOTTED})\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(rf"\s*({_DOTTED})\s*=")
_FENCE = re.compile(r'"""' + r"|'''")


class TomlForm(BaseModel):
    """The parent of what stands in the TOML files of agents, rubrics and prices: no key that nobody reads."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def load(path: Path, model: type[T]) -> T:
    """Read a file into a model; raises `BadInput` when it cannot be read, is no TOML or does not fit."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise BadInput(f"{path}:{line}: this is not UTF-8 text.") from error
    try:
        return model.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        line = int(found[1]) if found else text.rstrip("\n").count("\n") + 1
        reason = re.sub(r"\s*\(at [^()]*\)$", "", str(error))
        raise BadInput(f"{path}:{line}: this is not valid TOML: {reason}.") from error
    except ValidationError as error:
        raise BadInput(f"{path}:{_reason(error.errors()[0], line_numbers(text), {*model.model_fields})}") from error


def _reason(error: ErrorDetails, lines: dict[Place, int], known: set[str]) -> str:
    """`LINE: key: reason`; the line of the nearest table stands for a key that is missing. A file has `known` keys."""
    place = error["loc"]
    while place and place not in lines:
        place = place[:-1]
    # Beyond the key pydantic's path names the branch of a union, which says nothing to the reader of a file.
    field = ".".join(str(part) for part in (error["loc"] if error["type"] == "missing" else place))
    message = " ".join(error["msg"].removeprefix("Value error, ").split()).rstrip(".")
    if error["type"] == "extra_forbidden":
        meant = _meant(field, error["input"], known) if len(place) == 1 else ""
        return f"{lines.get(place, 1)}: {field}: no such key is known here.{meant}"
    if error["type"] == "missing":
        return f"{lines.get(place, 1)}: {field!r} is missing."
    value = error["input"]
    if error["type"] != "value_error" and not isinstance(value, dict | list):
        shown = repr(value)
        message += f", not {shown if len(shown) <= _SHOWN else shown[:_SHOWN] + '…'}"
    return f"{lines.get(place, 1)}: {field + ': ' if field else ''}{message}."


def _meant(key: str, value: object, known: set[str]) -> str:
    """A hint where a key of the file was written in another way, or in a table."""
    if isinstance(value, dict) and (inner := sorted(known & {*value})):
        return f" {inner[0]!r} is a key of the file itself: write it without [{key}]."
    near = nearest_name(key.lower().removeprefix("memshare_"), sorted(known))
    return f" Did you mean {near!r}?" if near else ""


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """The known name that was meant by one that is none; None where no name is near."""
    return next(iter(get_close_matches(name, known, 1, NEAR)), None)


def line_numbers(text: str) -> dict[Place, int]:
    """Where each table and key of a TOML text stands: its path (keys, and indices from 0) to its line from 1.

    It reads line by line, since the standard library's parser gives no positions.
    """
    lines: dict[Place, int] = {}
    lengths: dict[Place, int] = {}
    table: Place = ()
    fence: str | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        if fence is None:
            if line.lstrip().startswith("#"):
                continue
            if header := _HEADER.match(line):
                table = _table(_parts(header[2]), header[1] == "[[", lengths)
                place = table
            elif key := _KEY.match(line):
                place = (*table, *_parts(key[1]))
            else:
                place = ()
            for end in range(1, len(place) + 1):  # what has no line of its own begins where its first part does
                lines.setdefault(place[:end], number)
        for mark in _FENCE.findall(line):
            fence = mark if fence is None else (None if mark == fence else fence)
    return lines


def _table(names: list[str], in_array: bool, lengths: dict[Place, int]) -> Place:
    """The path of a header; a name on the way that is an array of tables means its last table."""
    place: Place = ()
    for name in names[:-1]:
        place = (*place, name)
        if place in lengths:
            place = (*place, lengths[place] - 1)
    place = (*place, names[-1])
    if not in_array:
        return place
    lengths[place] = lengths.get(place, 0) + 1
    return (*place, lengths[place] - 1)


def _parts(name: str) -> list[str]:
    return [part.strip("\"'") for part in re.findall(_NAME, name)]
