"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
MemoryId = Annotated[
    str, typer.Argument(metavar="ID", help="An id that `memshare memories list` shows: its first 8 digits, or all.")
]
Pool = Annotated[str | None, typer.Option(help="The pool; it may be left out where only one has memories.")]
Rows = Annotated[int, typer.Option("--limit", min=1, help="Maximum rows per table; --json is complete.")]
