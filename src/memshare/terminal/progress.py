"""Bars on stderr that say what is done, and how much of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)

from memshare.terminal.console import errors


@contextmanager
def progress_bar(what: str, total: int | None = None, *, shown: bool = True) -> Iterator[Callable[..., None]]:
    """Show a bar while the block runs; what it yields takes `advance`, `completed`, `total` and `description`."""
    with bars(shown=shown) as progress:
        yield partial(progress.update, progress.add_task(what, total=total))


def bars(count: ProgressColumn | None = None, *, shown: bool = True) -> Progress:
    """Bars that a command adds by itself, each with a count of how much is done."""
    done = count or MofNCompleteColumn()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), done, TimeElapsedColumn())
    return Progress(*columns, console=errors, transient=True, disable=not shown)
