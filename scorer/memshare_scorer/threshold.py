"""The total from which a pair is remembered."""

from __future__ import annotations

from collections.abc import Callable

from memshare_scorer.rubric import MEAN_OF_SEEDS, Rubric

WITHOUT_SEEDS = 81.0  # the mean score of the paper's own seeds

SeedsMean = Callable[[str], float | None]
"""The mean total of a pool's seeds, the pairs it was begun with; None while it has none."""


def without_seeds(_pool: str) -> None:
    """What seeds themselves are judged by: if their own mean counted, so would their order."""


def threshold_for(rubric: Rubric, pool: str, seeds_mean: SeedsMean) -> float:
    """The rubric's number; with "mean-of-seeds" the mean of the pool's seeds, and 81 while there are none."""
    if rubric.threshold != MEAN_OF_SEEDS:
        return float(rubric.threshold)
    mean = seeds_mean(pool)
    return WITHOUT_SEEDS if mean is None else mean
