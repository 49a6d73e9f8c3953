"""Checks of an answer that is to be an SQL query."""

from __future__ import annotations

import json
import re
import sqlite3
from functools import lru_cache
from pathlib import Path

MOST_STEPS = 20_000_000  # of SQLite's machine, in one query: some seconds
_STEPS_AT_ONCE = 10_000
_READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
_FENCED = re.compile(r"```(?:sql)?\s*\n(.*)\n\s*```", re.DOTALL | re.IGNORECASE)

Rows = list[tuple[object, ...]]


def same_rows(prompt: str, answer: str, *, database: str, answers: str) -> bool | None:
    """True if a query gives the rows of the right query, in their order; it may stand in a Markdown code block.

    `database` is a file of SQL that makes the tables, `answers` one of JSON lines with each `prompt` and its right
    `answer`. None for a prompt that is not among them. Raises `ValueError` for a right answer that is no query.
    """
    known = _answers(*_as_it_is(answers))
    if prompt not in known:
        return None
    tables = _tables(*_as_it_is(database))
    wanted = tables.rows(known[prompt])
    if wanted is None:
        raise ValueError(f"{answers} has a right answer that is no query: {known[prompt][:100]!r}")
    fenced = _FENCED.fullmatch(answer.strip())
    return tables.rows(fenced[1] if fenced else answer) == wanted


class Tables:
    """A database in memory that queries can read, and not change."""

    def __init__(self, script: str) -> None:
        self._database = sqlite3.connect(":memory:")
        self._database.executescript(script)
        self._database.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in _READS else sqlite3.SQLITE_DENY)
        self._rows = lru_cache(maxsize=10_000)(self._run)

    def rows(self, sql: str) -> Rows | None:
        """The rows of a query; None for what is none, or takes too many steps."""
        return self._rows(sql)

    def _run(self, sql: str) -> Rows | None:
        steps = iter(range(MOST_STEPS // _STEPS_AT_ONCE))
        self._database.set_progress_handler(lambda: next(steps, None) is None, _STEPS_AT_ONCE)
        try:
            return self._database.execute(sql).fetchall()
        except (sqlite3.Error, sqlite3.Warning):  # a warning is more than one statement
            return None


def _as_it_is(file: str) -> tuple[Path, int]:
    """A file's place, and when it was last changed: it is read again then."""
    path = Path(file).absolute()
    return path, path.stat().st_mtime_ns


@lru_cache(maxsize=4)
def _answers(file: Path, _changed: int) -> dict[str, str]:
    lines = (json.loads(line) for line in file.read_text("utf-8").splitlines())
    return {line["prompt"]: line["answer"] for line in lines}


@lru_cache(maxsize=4)
def _tables(file: Path, _changed: int) -> Tables:
    return Tables(file.read_text("utf-8"))
