"""Asks the person before something that costs, or that nothing brings back; and tells who stops it how to go on."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from memshare.terminal.console import errors
from memshare_broker.errors import BadInput
from memshare_broker.observe.plain_text import plain


def require_consent(question: str, *, yes: bool) -> None:
    """Return where the person agrees, by --yes or by an answer; end the command where not."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise BadInput("Nobody is there to be asked, so nothing was done. Read what it says above, then give --yes.")
    if not typer.confirm(plain(question), err=True):
        errors.print("Nothing was done.")
        raise typer.Exit(1)


@contextmanager
def stopping(said: str) -> Iterator[None]:
    """Say how to go on where the person stops the block with Ctrl-C or at the end of the input."""
    try:
        yield
    except (typer.Abort, KeyboardInterrupt) as stop:
        errors.print(f"\nStopped. {said}")
        raise typer.Exit(130) from stop
