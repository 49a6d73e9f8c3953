"""Means with their intervals, and whether a difference of paired scores may be chance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memshare_broker.wire.messages import Message

CONFIDENCE = 0.95
RESAMPLES = 9_999
BATCH = 200  # resamples in memory at a time


class Interval(Message):
    """A mean and its 95 % confidence interval (Student's t); the interval of a single value is the value."""

    mean: float
    low: float
    high: float


def interval(values: Sequence[float]) -> Interval:
    """The mean of at least one value."""
    from scipy import stats  # it takes a second to import

    some = np.asarray(values, dtype=float)
    mean = float(some.mean())
    error = float(stats.sem(some)) if some.size > 1 else 0.0
    if error == 0:
        return Interval(mean=mean, low=mean, high=mean)
    low, high = stats.t.interval(CONFIDENCE, some.size - 1, loc=mean, scale=error)
    return Interval(mean=mean, low=float(low), high=float(high))


def paired_p(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The two-sided p of a permutation test of the mean difference of pairs; 1 where nothing differs.

    It assumes no distribution: under the null hypothesis each pair may be swapped. Of at most 13 pairs all swaps are
    looked at, of more 9,999 that are drawn by a fixed seed.
    """
    from scipy import stats

    differences = np.subtract(ours, theirs)
    if not differences.any():
        return 1.0
    found = stats.permutation_test(
        (differences,),
        np.mean,
        permutation_type="samples",
        n_resamples=RESAMPLES,
        batch=BATCH,
        rng=np.random.default_rng(7),
    )
    return float(found.pvalue)
