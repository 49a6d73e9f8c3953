"""A bar on stderr that says what is done, and how much of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from memshare.terminal.console import errors


@contextmanager
def progress_bar(what: str, total: int | None = None, *, shown: bool = True) -> Iterator[Callable[..., None]]:
    """Show a bar while the block runs; what it yields takes `advance`, `completed`, `total` and `description`."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=errors, transient=True, disable=not shown) as bars:
        yield partial(bars.update, bars.add_task(what, total=total))
