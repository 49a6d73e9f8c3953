"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
MemoryId = Annotated[
    str, typer.Argument(metavar="ID", help="An id that `memshare memories list` shows: its first 8 digits, or all.")
]
