"""What an experiment found, in sentences that are computed: differences of paired scores, and what was counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from memshare.evaluation.lab import Measured
from memshare.evaluation.result import ALL, Result
from memshare.evaluation.statistics import Interval, interval, paired_p
from memshare.evaluation.tables import SMALLEST_P

CLEAR_BELOW = 0.05  # p of a difference that is called one

Verdict = Literal["higher", "lower", "no clear difference"]


class Cell(NamedTuple):
    """One condition at one phase."""

    condition: str
    phase: str

    def __str__(self) -> str:
        return f"{self.condition} (phase {self.phase})" if self.phase else self.condition


class Difference(NamedTuple):
    """The difference of the scores of items that are in two cells, item by item, in points."""

    points: Interval
    p: float | None
    """None for a single pair."""
    pairs: int


class Finding(NamedTuple):
    """One sentence without its full stop; of a comparison also its two cells and the verdict that ends it."""

    text: str
    verdict: Verdict | None = None
    cell: Cell | None = None
    against: Cell | None = None
    by_kind: str = ""
    """The same comparison for each kind of task: a gain in one may hide a loss in another."""
    beside: str = ""
    """The same comparison by other measures than the score."""


def findings(result: Result, measured: Sequence[Measured]) -> list[Finding]:
    """For each model: its cells against the baseline and against the first, then what was counted beside the score.

    Of an experiment that goes over phases only the first and the last phase are compared.
    """
    return [one for model in result.models for one in (*_compared(result, measured, model), *_counted(result, model))]


def cells(measured: Sequence[Measured], baseline: str | None, model: str | None = None) -> list[Cell]:
    """The cells in the order of measuring, without the baseline."""
    found = (Cell(one.condition, one.phase) for one in measured if model in (None, one.model))
    return [cell for cell in dict.fromkeys(found) if cell.condition != baseline]


def scores(measured: Sequence[Measured], cell: Cell, model: str) -> dict[str, float]:
    """The score of each item in a cell; what was not verified, or was given up, counts 0."""
    return {one.item: one.points for one in measured if (one.condition, one.phase, one.model) == (*cell, model)}


def difference(ours: dict[str, float], theirs: dict[str, float]) -> Difference | None:
    """Of the items that are in both; None where there is none."""
    items = [item for item in ours if item in theirs]
    if not items:
        return None
    mine, other = [ours[item] for item in items], [theirs[item] for item in items]
    by_item = [one - before for one, before in zip(mine, other, strict=True)]
    return Difference(interval(by_item), paired_p(mine, other) if len(items) > 1 else None, len(items))


def _compared(result: Result, measured: Sequence[Measured], model: str) -> Iterator[Finding]:
    there = cells(measured, result.baseline, model)
    if result.by_phase:
        there = list(dict.fromkeys((*there[:1], *there[-1:])))
    of_cell = {cell: scores(measured, cell, model) for cell in there}
    pairs = [(cell, there[0]) for cell in there[1:]]
    if result.baseline is not None:
        base = Cell(result.baseline, "")
        of_cell[base] = scores(measured, base, model)
        pairs = [(cell, base) for cell in there] + pairs
    for cell, against in pairs:
        found = difference(of_cell[cell], of_cell[against])
        text, verdict = _sentence(f"{_prefix(result, model)}{cell}", str(against), found)
        told = against.condition == result.baseline
        by_kind, beside = (_by_kind(result, model, cell), _beside(result, model, cell)) if told else ("", "")
        yield Finding(text, verdict, cell, against, by_kind, beside)


def _beside(result: Result, model: str, cell: Cell) -> str:
    """The same comparison by BERTScore and by the second judge."""
    row = next(row for row in result.rows if (row.condition, row.phase, row.model, row.kind) == (*cell, model, ALL))
    told = [
        f"{name} {gain:+.{digits}f}{unit}" + (f", {_p(p)}" if p is not None else "")
        for name, gain, p, digits, unit in (
            ("BERTScore F1", row.f1_gain, row.f1_p, 3, ""),
            ("the second judge", row.judge_gain, row.judge_p, 1, " points"),
        )
        if gain is not None
    ]
    return "; ".join(told)


def _by_kind(result: Result, model: str, cell: Cell) -> str:
    rows = [row for row in result.rows if (row.condition, row.phase, row.model) == (*cell, model) and row.kind != ALL]
    found: dict[Verdict, list[str]] = {"higher": [], "lower": [], "no clear difference": []}
    for row in rows if len(rows) > 1 else ():
        if row.gain is not None:
            found[_verdict(row.gain, row.p)].append(f"{row.kind} ({row.gain:+.1f})")
    return "; ".join(f"{verdict} in {', '.join(kinds)}" for verdict, kinds in found.items() if kinds)


def _verdict(points: float, p: float | None) -> Verdict:
    if p is None or p >= CLEAR_BELOW:
        return "no clear difference"
    return "higher" if points > 0 else "lower"


def _sentence(name: str, against: str, found: Difference | None) -> tuple[str, Verdict | None]:
    if found is None:
        return f"{name}: not compared with {against}, as no item is in both", None
    points = found.points
    chance = "one pair, so no test" if found.p is None else f"{_p(found.p)}, {found.pairs:,} pairs"
    spread = f"95 % interval {points.low:+.1f} to {points.high:+.1f}"
    text = f"{name}: {points.mean:+.1f} points against {against} ({spread}, {chance})"
    return text, _verdict(points.mean, found.p)


def _counted(result: Result, model: str) -> Iterator[Finding]:
    rows = [row for row in result.rows if row.model == model and row.kind == ALL]
    for mark in dict.fromkeys(name for row in rows for name in row.marks):
        shares = [
            f"{100 * row.marks[mark].mean:.0f} % ({f'phase {row.phase}' if row.phase else row.condition})"
            for row in rows
            if mark in row.marks
        ]
        yield Finding(f"{_prefix(result, model)}{mark}: {', '.join(shares)}")


def _prefix(result: Result, model: str) -> str:
    return f"{model}, " if len(result.models) > 1 else ""


def _p(p: float) -> str:
    return f"p < {SMALLEST_P:g}" if p < SMALLEST_P else f"p = {p:.3f}"
