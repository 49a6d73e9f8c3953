"""How the fault-injection run says what it saw: a table for people, one JSON document for machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from memshare.terminal.console import print_json
from tests.faults.run import Result
from tests.faults.verdict import failings

COLUMNS = (
    "", "tasks", "answered", "graded", "stored", "dead", "lost", "twice", "untold", "lessons", "in flight", "struck",
    "crashes", "recovers, s", "drained p50", "p99, s", "all ended, s", "",
)  # fmt: skip

people = Console()
if not people.is_terminal:
    people = Console(width=180)
progress = Console(stderr=True, soft_wrap=True)


def print_table(results: Sequence[Result]) -> None:
    """One line for each scenario, and below it a sentence for each thing that must not be."""
    table = Table(*COLUMNS, box=None, pad_edge=False, header_style="bold")
    for column in table.columns[1:-1]:
        column.justify = "right"
    for result in results:
        table.add_row(*row(result))
    people.print(table)
    for result in results:
        if result.skipped:
            people.print(f"[yellow]skipped[/] {result.name}: {result.skipped}", highlight=False)
        for sentence in failings(result):
            people.print(f"[bold red]FAILED[/] {result.name}: {sentence}. See {result.logs}", highlight=False)


def print_document(results: Sequence[Result]) -> None:
    """Every figure of every scenario, and what must not be."""
    print_json([asdict(result) | {"failings": failings(result)} for result in results])


def row(result: Result) -> list[str]:
    """The cells of a scenario's line."""
    found = result.count
    if found is None:
        return [result.name, *("" for _ in COLUMNS[2:]), "[yellow]skipped[/]"]
    verdict = "[bold red]FAILED[/]" if failings(result) else "[green]expected[/]" if result.loses else "[green]ok[/]"
    numbers = (
        found.submitted, found.answered, found.graded, found.stored, sum(found.dead.values()), found.lost,
        found.duplicates, found.untold, found.lessons, result.in_flight, result.struck or 0, len(result.crashes),
    )  # fmt: skip
    times = (
        "–" if seconds is None else f"{seconds:.1f}"
        for seconds in (result.recovered, *(result.drained or (None, None)), result.ended)
    )
    return [result.name, *(f"{number:,}" for number in numbers), *times, verdict]
