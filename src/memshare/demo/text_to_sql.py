"""Questions to a database with their SQL, in the format of text2sql-data: those of the bundled library, or a file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Any

LIBRARY = Path(__file__).parent / "library"
EXCLUDED = "exclude"
FOLDS = {"8": "dev", "9": "test"}
"""Small sets come in ten numbered parts: the last two stand for these, the others for train."""


@dataclass(frozen=True)
class SqlQuery:
    """SQL with the names of its slots in place of values, and for each slot its type and an example."""

    number: int
    template: str
    types: Mapping[str, str]
    examples: Mapping[str, str]

    def filled(self, values: Mapping[str, str]) -> str:
        """The SQL with these values; a slot without one has its example."""
        return filled(self.template, {**self.examples, **values})


@dataclass(frozen=True)
class SqlQuestion:
    """A question in words. Its slots and values are those that stand in the text, in their order there."""

    split: str
    text: str
    query: SqlQuery
    slots: tuple[str, ...]
    values: tuple[str, ...]

    @cached_property
    def types(self) -> tuple[str, ...]:
        return tuple(self.query.types.get(slot, "unknown") for slot in self.slots)

    @cached_property
    def sql(self) -> str:
        """The right answer."""
        return self.query.filled(dict(zip(self.slots, self.values, strict=True)))


@dataclass(frozen=True)
class Questions:
    """A set of questions, and the SQL that makes their database, where there is one."""

    name: str
    every: tuple[SqlQuestion, ...]
    database: str | None

    def of(self, split: str) -> list[SqlQuestion]:
        """The questions of train, dev or test, each text once, and none of dev and test that is in train."""
        trained = {one.text for one in self.every if one.split == "train"} if split != "train" else set()
        return list({one.text: one for one in self.every if one.split == split and one.text not in trained}.values())


def read_questions(file: Path | None = None) -> Questions:
    """The questions of a file, which have no database; without a file those of the bundled library, which has one."""
    if file is not None:
        return Questions(file.stem, _read(file), None)
    return Questions("library", _read(LIBRARY / "questions.json"), (LIBRARY / "library.sql").read_text("utf-8"))


def with_schema(agent: str, database: str) -> str:
    """The file of an agent whose instructions end with the tables of a database, and with its customs, if it has any.

    These are the first comment of the script.
    """
    lines = database.splitlines()
    comment = list(takewhile(lambda line: line.startswith("--"), lines))
    customs = " ".join(line.removeprefix("--").strip() for line in comment)
    parts = (part.strip() for part in "\n".join(lines[len(comment) :]).split(";"))
    told = [customs, "", *(f"{part};" for part in parts if part.startswith("CREATE TABLE"))]
    return re.sub(r'"""$', lambda _: "\n" + "\n".join(told).strip() + '"""', agent.rstrip()) + "\n"


def filled(text: str, values: Mapping[str, str]) -> str:
    """A text with values in place of the names of slots."""
    if not values:
        return text
    names = "|".join(re.escape(name) for name in sorted(values, key=len, reverse=True))
    return re.sub(names, lambda found: values[found[0]], text)


def _read(file: Path) -> tuple[SqlQuestion, ...]:
    entries = json.loads(file.read_text("utf-8"))
    return tuple(
        _question(_query(number, entry), sentence)
        for number, entry in enumerate(entries)
        for sentence in entry["sentences"]
        if sentence["question-split"] != EXCLUDED
    )


def _query(number: int, entry: dict[str, Any]) -> SqlQuery:
    types = {one["name"]: one["type"] for one in entry["variables"]}
    return SqlQuery(number, entry["sql"][0], types, {one["name"]: one["example"] for one in entry["variables"]})


def _question(query: SqlQuery, sentence: dict[str, Any]) -> SqlQuestion:
    text: str = sentence["text"]
    given = {name: value for name, value in sentence["variables"].items() if value and name in text}
    slots = tuple(sorted(given, key=text.index))
    split = sentence["question-split"]
    return SqlQuestion(
        FOLDS.get(split, "train") if split.isdecimal() else split,
        filled(text, given),
        query,
        slots,
        tuple(given[slot] for slot in slots),
    )
