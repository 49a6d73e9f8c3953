"""How the command line speaks: tables and colour for people, JSON for machines."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable

from rich.console import Console
from rich.table import Table

console = Console()
errors = Console(stderr=True)


def print_json(value: object) -> None:
    """One JSON document on one line, and nothing else."""
    print(json.dumps(value, ensure_ascii=False, default=str))


def table(*columns: str, rows: Iterable[Iterable[object]], title: str | None = None) -> Table:
    """A table of short values."""
    made = Table(*columns, title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for column in made.columns:
        if column.header == "id":
            column.no_wrap, column.overflow = True, "fold"  # people copy it
    for row in rows:
        made.add_row(*(str(value) for value in row))
    return made


def short(text: str, width: int = 60) -> str:
    """A text on one line, cut to a width."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"


def moment(seconds: float) -> str:
    """A Unix time in seconds as people read it, in local time."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
