"""The difference of scores with memories and without, and the interval that holds it in 95 of 100 cases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from math import sqrt
from statistics import NormalDist, fmean
from typing import NamedTuple

from memshare_memory.belief.lift import Side, squared_errors, sums_of, together

LEAST = 10  # tasks on each side, below which no difference is told
RIGHT = 100.0  # the score of an answer that is right, where others have 0
OUTSIDE = 0.05  # share of the intervals that leave out the truth
Z = NormalDist().inv_cdf(1 - OUTSIDE / 2)


class Difference(NamedTuple):
    """How much higher with memories, and the ends of the 95 % interval, -100 to 100.

    Of right and wrong answers, which are grades of 100 and 0, it is the interval of Agresti and Caffo (The American
    Statistician 54, 2000), and of the same questions that of Bonett and Price (Journal of Educational and Behavioral
    Statistics 37, 2012): both count an answer more of each sort, so that a few that agree are not certain. Of scores it
    is Welch's, where neither side has less spread, or then fewer degrees of freedom, than both together; of the same
    questions a step more up and one more down are as large as the largest. Few scores that are nearly alike say little
    of rare failures: to the variance of each side's mean comes that of half an answer more at 0 and half at 100, and of
    the same questions no interval is narrower than half a pair more at a step of 100 and half at -100 alone make it.
    Pairs of one cluster, such as a form of questions, count together (Liang and Zeger, Biometrika 73, 1986).
    """

    points: float
    low: float
    high: float


def is_right_or_wrong(*sides: Side) -> bool:
    """True if every score is 0 or 100: no other has a square of 100 times itself."""
    return all(abs(side.squares - RIGHT * side.total) < 1e-6 * (1 + side.squares) for side in sides)


def standardised(strata: Sequence[tuple[Side, Side]]) -> tuple[Side, Side]:
    """Both sides as if chance had divided each group of tasks alike: no mix of groups makes a difference of the means.

    A group of n₁ and n₂ tasks, each one or more, weighs n₁n₂ / (n₁ + n₂) (Mantel and Haenszel, Journal of the National
    Cancer Institute 22, 1959). A side has as many tasks as are as exact where each weighs the same, and the spread
    within groups, of which each but the first takes a degree of freedom.
    """
    weights = [one.tasks * other.tasks / (one.tasks + other.tasks) for one, other in strata]
    shares, levels = [one / sum(weights) for one in weights], [together(both).mean for both in strata]
    tasks = sum(side.tasks for both in strata for side in both)

    def weighed(sides: Sequence[Side]) -> Side:
        count = 1 / sum(share**2 / of.tasks for of, share in zip(sides, shares, strict=True))
        mean = sum(share * of.mean for of, share in zip(sides, shares, strict=True))
        parts = zip(sides, shares, levels, strict=True)
        about = sum(share * (of.squares / of.tasks - 2 * level * of.mean + level**2) for of, share, level in parts)
        above = mean - sum(share * level for share, level in zip(shares, levels, strict=True))
        return Side(count, count * mean, count * (mean**2 + (about - above**2) * tasks / (tasks - len(strata) + 1)))

    shown, without = zip(*strata, strict=True)
    return weighed(shown), weighed(without)


def of_groups(strata: Sequence[tuple[Side, Side]], z: float = Z) -> Difference | None:
    """The difference of tasks that chance divided within groups; None below ten on a side. `z` is its width."""
    every = sums_of(strata)
    if min(side.tasks for side in every) < LEAST:
        return None
    shown, without = standardised(strata)
    points = middle = shown.mean - without.mean
    if is_right_or_wrong(*every):
        more, fewer = ((side.total + RIGHT) / (side.tasks + 2) for side in (shown, without))
        of = [(side.tasks, side.tasks * (side.tasks - 1) * side.squared_error, side.mean) for side in (shown, without)]
        half = RIGHT / 2
        sums = [(of_n + 2 * half**2 + 2 * n * (mean - half) ** 2 / (n + 2)) / (n + 2) ** 2 for n, of_n, mean in of]
        middle, squared_reach = more - fewer, z**2 * sum(sums)
    else:
        errors, freedom = squared_errors(shown, without), shown.tasks + without.tasks - 2
        of_sides = zip(errors, (shown, without), strict=True)
        terms = sum(one**2 / (side.tasks - 1 if one == side.squared_error else freedom) for one, side in of_sides)
        wide = student(sum(errors) ** 2 / terms, z) if terms else z
        added = ((side.mean**2 + (RIGHT - side.mean) ** 2) / 2 / (side.tasks + 1) ** 2 for side in (shown, without))
        squared_reach = wide**2 * sum(errors) + z**2 * sum(added)
    reach = sqrt(squared_reach)
    return Difference(points, max(middle - reach, -RIGHT), min(middle + reach, RIGHT))


def of_pairs(
    pairs: Sequence[tuple[float, float]], z: float = Z, clusters: Sequence[Hashable] = ()
) -> Difference | None:
    """The difference of the same questions, each with its score without memories and with some.

    None below ten, of questions or of the `clusters` that these are in, if there are any.
    """
    steps, names = [after - before for before, after in pairs], clusters or range(len(pairs))
    if len(set(names)) < LEAST:
        return None
    apart = max(map(abs, steps)) or RIGHT
    added, alone = (apart, -apart), len({*names})
    count, middle = len(steps) + 2, sum(steps) / (len(steps) + 2)
    sums: defaultdict[Hashable, float] = defaultdict(float)
    for name, step in zip((*names, *(object() for _ in added)), (*steps, *added), strict=True):
        sums[name] += step - middle
    is_clustered = len(sums) < count
    wide = student(len(sums) - 1, z) * sqrt(len(sums) / (len(sums) - 1)) if is_clustered else z
    least = student(alone - 1, z) * RIGHT / (alone + 1) if apart < RIGHT else 0.0
    reach = max(wide * sqrt(sum(one**2 for one in sums.values())) / count, least)
    return Difference(fmean(steps), max(middle - reach, -RIGHT), min(middle + reach, RIGHT))


def student(freedom: float, z: float = Z) -> float:
    """Student's t for a normal `z`, by its expansion (Abramowitz and Stegun 26.7.5): right to .01 from 9 on."""
    terms = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96, (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + sum(term / freedom**power for power, term in enumerate(terms, 1))
