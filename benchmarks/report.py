"""How the benchmarks say what they measured: one JSON document for machines, one table for people."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from memshare.terminal.console import print_json

_people = Console()
_progress = Console(stderr=True)

T = TypeVar("T")


class Aim(NamedTuple):
    """A bound that a figure should keep: at least `bound`, or at most."""

    figure: str
    bound: float
    unit: str
    at_most: bool = False


def print_figures(
    title: str, figures: Mapping[str, Any], *, as_json: bool, notes: Sequence[str] = (), aims: Sequence[Aim] = ()
) -> None:
    """Print what was measured. A figure is a value, or a mapping, which becomes a row of named columns.

    `notes` are whole sentences for people. `aims` stand below the table, and in JSON under `aims`, by their figure;
    one whose figure was not measured is left out.
    """
    measured = [one for one in aims if figures.get(one.figure) is not None]
    if as_json:
        stated = {one.figure: {"aim": one.bound, "met": is_met(one, figures[one.figure])} for one in measured}
        print_json({**figures, **({"aims": stated} if stated else {})})
        return
    notes = [*notes, *(aim(one.figure, figures[one.figure], *one[1:3], at_most=one.at_most) for one in measured)]
    _people.print(f"\n[bold]{title}[/]")
    single = Table(box=None, pad_edge=False, show_header=False)
    tables: dict[tuple[str, ...], Table] = {}
    for name, value in figures.items():
        if isinstance(value, Mapping):
            columns = tuple(str(column) for column in value)
            if columns not in tables:
                tables[columns] = Table(box=None, pad_edge=False, header_style="bold")
                tables[columns].add_column(no_wrap=True)
                for column in columns:
                    tables[columns].add_column(column, justify="right")
            tables[columns].add_row(name, *(readable(one) for one in value.values()))
        else:
            single.add_row(name, readable(value))
    for table in (single, *tables.values()):
        if table.row_count:
            _people.print(table)
    for note in notes:
        _people.print(note, highlight=False)


def is_met(wanted: Aim, value: float) -> bool:
    """Whether a figure keeps its bound."""
    return value <= wanted.bound if wanted.at_most else value >= wanted.bound


def aim(what: str, value: float, wanted: float, unit: str, *, at_most: bool = False) -> str:
    """An aim beside its figure, as a note for `print_figures`."""
    met = value <= wanted if at_most else value >= wanted
    bound = "at most" if at_most else "at least"
    verdict = "[green]met[/]" if met else "[bold red]MISSED[/]"
    return f"{verdict}: {what} {readable(value)} {unit} (aim: {bound} {readable(wanted)} {unit})"


def readable(value: object) -> str:
    """A number with three significant digits, or any other value as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def progress(steps: Sequence[T], description: str) -> Iterable[T]:
    """The steps one after another behind a progress bar on stderr."""
    return track(steps, description, console=_progress, transient=True)


def milliseconds(call: Callable[..., object], *arguments: object) -> float:
    """How long a call takes."""
    started = time.perf_counter()
    call(*arguments)
    return (time.perf_counter() - started) * 1000


def percentile(values: Sequence[float], percent: float) -> float:
    """The value below which `percent` of the values are, rounded to three digits after the point."""
    return round(float(np.percentile(values, percent)), 3)
