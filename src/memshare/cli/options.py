"""Options that several commands share, each declared once."""

from __future__ import annotations

import getpass
from typing import Annotated, Literal

import typer

ANONYMOUS = "anonymous"  # who gave no name

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
MemoryId = Annotated[
    str, typer.Argument(metavar="ID", help="An id that `memshare memories list` shows: its first 8 digits, or all.")
]
Pool = Annotated[str | None, typer.Option(help="The pool; it may be left out where only one has memories.")]
OnlyPool = Annotated[str | None, typer.Option("--pool", help="Only this pool.")]
ValidUntil = Annotated[str | None, typer.Option(metavar="DAY", help="Last day (UTC) of its use, such as 2026-12-31.")]
Chosen = Literal["active", "hidden", "stale", "any"]
"""A status of memories, or any."""
Rows = Annotated[int, typer.Option("--limit", min=1, help="Maximum rows per table; --json is complete.")]
By = Annotated[
    str | None, typer.Option("--by", metavar="NAME", help="Name recorded for it. [default: your login name]")
]
Submitter = Annotated[str, typer.Option("--submitter", help="Name recorded as the submitter.")]
Payer = Annotated[
    str | None, typer.Option("--submitter", help="Who asks, and pays for the calls. [default: your login name]")
]
AgentOfLines = Annotated[str | None, typer.Option("--agent", help="The agent of lines that name none.")]
KindOfLines = Annotated[str | None, typer.Option("--kind", help="The kind of lines that name none.")]
AnsweredBy = Annotated[
    str | None, typer.Option("--agent", help="The agent that answers, where several share the pool.")
]
AnsweredAs = Annotated[str | None, typer.Option("--kind", help="The kind of task, where the agent has kinds.")]
ANSWER_WITHIN = 420
"""Seconds to wait for an answer: longer than `MEMSHARE_LEASE`, after which a message that was lost is sent again."""
AnswerTimeout = Annotated[float, typer.Option("--timeout", min=0, help="Seconds to wait for each answer.")]


def login_name() -> str:
    """Who sits at this machine, where it says so."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # KeyError before Python 3.13: nobody has this user's number
        return ANONYMOUS
