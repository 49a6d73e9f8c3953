"""The process that runs tools: functions of an agents' folder, and SQL. A query cannot stop or fill its worker."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError, validate_call

from memshare_broker.child_processes import LONGEST, Request, function_of, limit_time, serve
from memshare_broker.errors import BadInput, GiveUp
from memshare_broker.wire.forms import readable

MOST_SAID = 100_000  # characters
MOST_ROWS, MOST_TEXT, LONGEST_CELL, LONGEST_TABLES = 50, 8_000, 300, 2_000  # all but the first in characters
SQL_SECONDS, LARGEST_VALUE = 5.0, 1_000_000  # bytes of a text or blob that a query makes
_STEPS = 10_000  # of SQLite's machine between two looks at the clock
_READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}


def run(asked: Request, data: bytes) -> dict[str, object]:
    """The text that a function gives; without arguments its description, and their JSON schema."""
    folder = str(asked["folder"])
    os.chdir(folder)
    function: Any = function_of(str(asked["function"]), folder)
    try:
        if not data:
            return {"does": (function.__doc__ or "").strip(), "schema": TypeAdapter(function).json_schema()}
        limit_time(float(str(asked["seconds"])))
        value = validate_call(function)(**json.loads(data))
    except MemoryError:
        raise
    except ValidationError as error:
        raise GiveUp(f"it cannot be called so: {readable(error, 'tool')}") from error
    except (Exception, SystemExit) as error:
        raise GiveUp(f"it raised {type(error).__name__}: {str(error)[:LONGEST]}") from error
    return {"said": (value if isinstance(value, str) else json.dumps(value, default=str))[:MOST_SAID]}


def rows(database: str, query: str) -> str:
    """The names of the columns, then a row a line, each as JSON. One statement that reads, and nothing else, is run.

    Raises `sqlite3.Error` for any other, and for one that takes more than five seconds.
    """
    with closing(_opened(database)) as connection:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_VALUE)
        connection.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in _READS else sqlite3.SQLITE_DENY)
        end = time.monotonic() + SQL_SECONDS
        connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
        found = connection.execute(query)
        lines, size = [json.dumps([column for column, *_ in found.description or ()])], 0
        for number, row in enumerate(found):
            line = json.dumps([_cell(value) for value in row], ensure_ascii=False)
            size += len(line)
            if number == MOST_ROWS or size > MOST_TEXT:
                return "\n".join([*lines, "(There are more rows. Ask for fewer, or count them.)"])
            lines.append(line)
        return "\n".join(lines)


def tables_of(database: str) -> str:
    """The tables and views with their columns; raises `BadInput` for what is no database that can be read."""
    columns = (
        "SELECT m.name || '(' || group_concat(c.name, ', ') || ')' FROM sqlite_master m, pragma_table_info(m.name) c"
        " WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite_%' GROUP BY m.name"
    )
    try:
        with closing(_opened(database)) as connection:
            return "; ".join(table for (table,) in connection.execute(columns))[:LONGEST_TABLES]
    except sqlite3.Error as error:
        raise BadInput(f"{database!r} cannot be read as a SQLite database: {error}.") from error


def _opened(database: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{Path(database).absolute().as_uri()}?mode=ro", uri=True, timeout=SQL_SECONDS)


def _cell(value: object) -> object:
    value = f"({len(value):,} bytes)" if isinstance(value, bytes) else value
    return value[:LONGEST_CELL] if isinstance(value, str) else value


if __name__ == "__main__":
    serve(run)
