"""What a soak came to, and how it is said."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table

from tests.faults.count import Count
from tests.faults.drift import Drift
from tests.faults.run import Result
from tests.faults.table import people
from tests.faults.verdict import failings


@dataclass(frozen=True)
class Soaked:
    """The figures of one soak, of the minutes `begin` and `end`; `restarts` is how many workers were ended."""

    begin: float
    end: float
    rate: float
    restarts: int
    count: Count
    crashes: tuple[str, ...]
    drifts: tuple[Drift, ...]

    @property
    def failings(self) -> list[str]:
        """What must not be, a sentence for each thing."""
        result = Result("soak", count=self.count, in_flight=1, recovered=0.0, crashes=self.crashes)
        return [*failings(result), *(one.sentence for one in self.drifts if one.is_too_much)]

    @property
    def as_json(self) -> dict[str, Any]:
        """All of it, for machines."""
        shares = [asdict(one) | {"drift": round(one.share, 4)} for one in self.drifts]
        return asdict(self) | {"drifts": shares, "failings": self.failings}


def print_soak(soaked: Soaked) -> None:
    """A line for each figure, and below it a sentence for each thing that must not be."""
    table = Table("", f"at {soaked.begin:.1f} min", f"at {soaked.end:.1f} min", "", "drift", "", box=None)
    for column in table.columns[1:5]:
        column.justify = "right"
    for one in soaked.drifts:
        verdict = "[bold red]FAILED[/]" if one.is_too_much else "[green]ok[/]"
        table.add_row(one.name, f"{one.early:,.1f}", f"{one.late:,.1f}", one.unit, f"{one.share:+.1%}", verdict)
    people.print(table)
    found = soaked.count
    people.print(
        f"{found.submitted:,} tasks, {soaked.restarts} restarts: {found.answered:,} answered, {found.graded:,} graded, "
        f"{found.stored:,} stored, {found.refused} refused, {found.lost} lost, {found.duplicates} twice, "
        f"{len(soaked.crashes)} crashes.",
        highlight=False,
    )
    for sentence in soaked.failings:
        people.print(f"[bold red]FAILED[/] {sentence}.", highlight=False)
