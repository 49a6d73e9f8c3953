"""The score of a pair, from the ranges it got: pure arithmetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum
from typing import NamedTuple

from memshare_broker.wire.grades import CriterionScore
from memshare_scorer.criterion import POINTS, Criterion

_DIGITS = 6  # of a total: scaling 90 points to 100 and adding them up must give 100, not 99.99999999999999


class Range(NamedTuple):
    """What the model gave for one criterion, in the rubric's own points."""

    low: float
    high: float


def scale(criteria: Sequence[Criterion], ranges: Mapping[str, Range]) -> dict[str, CriterionScore]:
    """Ranges of the criteria that apply, scaled by 100 / Σ points.

    Low, high and points are all scaled: the points sum to 100, whichever criteria apply, and the formula
    of `total` holds on what is reported.
    """
    factor = POINTS / sum(criterion.points for criterion in criteria)
    return {
        one.name: CriterionScore(
            low=ranges[one.name].low * factor, high=ranges[one.name].high * factor, points=one.points * factor
        )
        for one in criteria
    }


def total(criteria: Mapping[str, CriterionScore]) -> float:
    """S = ½(Σ low + Σ high), out of 100 (Memory Sharing, arXiv 2404.09982)."""
    return round(fsum(one.low + one.high for one in criteria.values()) / 2, _DIGITS)


def mean(gradings: Sequence[Mapping[str, CriterionScore]]) -> dict[str, CriterionScore]:
    """Several gradings of one pair by the same criteria as one: the mean low and high of each criterion."""
    count = len(gradings)
    return {
        name: CriterionScore(
            low=fsum(grading[name].low for grading in gradings) / count,
            high=fsum(grading[name].high for grading in gradings) / count,
            points=one.points,
        )
        for name, one in gradings[0].items()
    }


def accepted(score: float, threshold: float) -> bool:
    """Whether a total is enough for the pair to be remembered."""
    return score >= threshold
