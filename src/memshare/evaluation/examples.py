"""Examples of an experiment: the same task without memories and with them, chosen by a rule and not by hand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from memshare.evaluation.findings import Cell, cells
from memshare.evaluation.lab import Measured
from memshare.evaluation.result import Result


class Example(NamedTuple):
    """The same task twice. `why` is the part of the rule by which it is here."""

    why: str
    before: Measured
    after: Measured

    @property
    def gain(self) -> float:
        """Points; only of answers that were graded."""
        assert self.before.score is not None
        assert self.after.score is not None
        return self.after.score - self.before.score


class Examples(NamedTuple):
    """The examples of an experiment and the rule by which they were chosen."""

    cell: Cell
    rule: str
    chosen: tuple[Example, ...]
    absent: tuple[str, ...]
    """What the rule asks for and no pair gives."""


def choose(result: Result, measured: Sequence[Measured]) -> Examples | None:
    """The pairs with the median gain, the largest gain and the largest loss; None where nothing can be compared."""
    cell = most_shown(measured, result.baseline)
    if cell is None or result.baseline is None:
        return None
    base = {(one.model, one.item): one for one in measured if one.condition == result.baseline}
    pairs = [
        Example("", before, one)
        for one in measured
        if (one.condition, one.phase) == cell
        and one.score is not None
        and (before := base.get((one.model, one.item))) is not None
        and before.score is not None
    ]
    if not pairs:
        return None
    pairs.sort(key=lambda pair: (pair.gain, pair.after.item, pair.after.model))
    chosen, absent = [pairs[(len(pairs) - 1) // 2]._replace(why="the median gain")], []
    for why, pair, there in (
        ("the largest gain", pairs[-1], pairs[-1].gain > 0),
        ("the largest loss", pairs[0], pairs[0].gain < 0),
    ):
        if there:
            chosen.append(pair._replace(why=why))
        else:
            absent.append(f"{why.capitalize()}: there is none among the {len(pairs):,} pairs.")
    rule = (
        f"Of all {len(pairs):,} tasks that were graded with {result.baseline} and with {cell}, those with the median "
        f"gain in score, the largest gain and the largest loss. {str(cell).capitalize()} is the condition that showed "
        "the most memories, and the last of several that did."
    )
    return Examples(cell, rule, tuple(chosen), tuple(absent))


def most_shown(measured: Sequence[Measured], baseline: str | None) -> Cell | None:
    """The cell with the most memories in a prompt on average; of several the last."""
    shown: defaultdict[Cell, list[int]] = defaultdict(list)
    for one in measured:
        shown[Cell(one.condition, one.phase)].append(len(one.shown))
    there = cells(measured, baseline)
    return max(reversed(there), key=lambda cell: sum(shown[cell]) / len(shown[cell]), default=None)
