"""By how much tasks do better with memories than without, on a scale of 0 to 100, with the 95 % interval of that.

Of right and wrong answers, which are grades of 100 and 0, it is the interval of Agresti and Caffo (The American
Statistician 54, 2000), and of the same questions that of Bonett and Price (Journal of Educational and Behavioral
Statistics 37, 2012): both count an answer more of each sort, so that a few that agree are not certain. Of scores it is
Welch's, and of the same questions Student's.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import NormalDist, fmean, stdev
from typing import NamedTuple

from memshare_memory.belief.lift import Side

LEAST = 10  # tasks on each side, below which no difference is told
RIGHT = 100.0  # the score of an answer that is right, where others have 0
Z = NormalDist().inv_cdf(0.975)


class Difference(NamedTuple):
    """How much higher with memories, and the ends of the interval, -100 to 100."""

    points: float
    low: float
    high: float

    @classmethod
    def about(cls, points: float, middle: float, reach: float) -> Difference:
        """The difference with the interval about a middle."""
        return cls(points, max(middle - reach, -RIGHT), min(middle + reach, RIGHT))


def is_right_or_wrong(*sides: Side) -> bool:
    """True if every score is 0 or 100: no other has a square of 100 times itself."""
    return all(abs(side.squares - RIGHT * side.total) < 1e-6 * (1 + side.squares) for side in sides)


def of_groups(shown: Side, without: Side) -> Difference | None:
    """The difference of tasks that chance divided; None below ten on a side."""
    if min(shown.tasks, without.tasks) < LEAST:
        return None
    points = shown.mean - without.mean
    if is_right_or_wrong(shown, without):
        more, fewer = ((side.total / RIGHT + 1) / (side.tasks + 2) for side in (shown, without))
        error = sqrt(more * (1 - more) / (shown.tasks + 2) + fewer * (1 - fewer) / (without.tasks + 2))
        return Difference.about(points, RIGHT * (more - fewer), RIGHT * Z * error)
    one, other = shown.squared_error, without.squared_error
    terms = one**2 / (shown.tasks - 1) + other**2 / (without.tasks - 1)
    return Difference.about(points, points, student((one + other) ** 2 / terms) * sqrt(one + other) if terms else 0)


def of_pairs(pairs: Sequence[tuple[float, float]]) -> Difference | None:
    """The difference of the same questions, each with its score without memories and with some; None below ten."""
    if len(pairs) < LEAST:
        return None
    steps, count = [after - before for before, after in pairs], len(pairs) + 2
    if {score for pair in pairs for score in pair} <= {0.0, RIGHT}:
        won, lost = ((steps.count(step) + 1) / count for step in (RIGHT, -RIGHT))
        error = sqrt((won + lost - (won - lost) ** 2) / count)
        return Difference.about(fmean(steps), RIGHT * (won - lost), RIGHT * Z * error)
    return Difference.about(fmean(steps), fmean(steps), student(len(steps) - 1) * stdev(steps) / sqrt(len(steps)))


def student(freedom: float) -> float:
    """The .975 quantile of Student's t, by its expansion (Abramowitz and Stegun 26.7.5): right to .01 from 9 on."""
    return Z + (Z**3 + Z) / (4 * freedom) + (5 * Z**5 + 16 * Z**3 + 3 * Z) / (96 * freedom**2)
