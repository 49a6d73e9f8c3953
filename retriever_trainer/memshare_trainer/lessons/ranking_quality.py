"""What a user feels of a ranking: how often what is shown first helps, and nDCG, before a change and after it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memshare_trainer.lessons.figure import Figure

Array = NDArray[np.float32]


class RankingComparison(NamedTuple):
    """Two rankings of the same lessons."""

    first: Figure  # gain of the candidate that is ranked first
    ndcg: Figure  # of all candidates
    lessons: int

    @property
    def worse(self) -> bool:
        """One of the two figures fell by more than its error."""
        return self.first.worse or self.ndcg.worse


def compare(gains: Sequence[Array], before: Sequence[Array], after: Sequence[Array]) -> RankingComparison:
    """Compare two rankings, lesson by lesson.

    For each lesson: the gains of its candidates (how likely each one helps, 0 to 1), and their scores before and
    after, of the same shape. Raises `ValueError` without lessons.
    """
    if not gains:
        raise ValueError("there are no lessons to compare on")
    old, new = (
        np.array([_quality(gain, score) for gain, score in zip(gains, scores, strict=True)])
        for scores in (before, after)
    )
    first, ndcg = (paired(old[:, column], new[:, column]) for column in (0, 1))
    return RankingComparison(first, ndcg, len(gains))


def _quality(gains: Array, scores: Array) -> tuple[float, float]:
    """The gain of what comes first, and nDCG; where candidates tie, the one with the least gain comes first."""
    ranked = gains[np.lexsort((gains, -scores))]
    discount = 1 / np.log2(np.arange(len(gains)) + 2)
    ideal = float(np.sort(gains)[::-1] @ discount)
    return float(ranked[0]), float(ranked @ discount) / ideal if ideal else 1.0


def paired(before: Array, after: Array) -> Figure:
    """The means of two measurements of the same items, and the standard error of their difference.

    A few items that agree do not make the error nothing.
    """
    count = len(before)
    error = float(np.std(after - before, ddof=1)) / count**0.5 if count > 1 else 0.0
    return Figure(before=float(before.mean()), after=float(after.mean()), error=max(error, 1 / (2 * count)))
