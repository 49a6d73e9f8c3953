"""Whether a pool's recalls feed back words or concepts: only where its held-out lessons rank better for sure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from statistics import fmean, stdev
from typing import NamedTuple, get_args
from uuid import UUID

from memshare.memory_service.recall.feedback import Way
from memshare.retriever_trainer.kept_lesson import KeptLesson

FEWEST_LESSONS = 20
SURE = 2.0  # standard errors by which a gain must exceed 0

Order = Callable[[KeptLesson, Way], Sequence[UUID] | None]
"""The candidates of a lesson as a recall with this feedback finds them, best first; None where that cannot be told."""


class Gain(NamedTuple):
    """A way of feedback on held-out lessons: pairwise accuracy without and with it, and the error of the difference."""

    way: Way
    before: float
    after: float
    error: float
    lessons: int

    @property
    def sure(self) -> bool:
        """Whether it ranks better, and not by chance."""
        return self.lessons >= FEWEST_LESSONS and self.after - self.before > SURE * self.error


def gains(lessons: Sequence[KeptLesson], order: Order) -> list[Gain]:
    """What each way of feedback would gain on these lessons."""
    return [_gain(way, list(_shares(lessons, order, way))) for way in get_args(Way) if way != "off"]


def decide(found: Sequence[Gain]) -> Gain | None:
    """The way to use: the best of those that are better for sure; None for no feedback."""
    return max((one for one in found if one.sure), key=lambda one: one.after, default=None)


def _shares(lessons: Sequence[KeptLesson], order: Order, way: Way) -> Iterator[tuple[float, float]]:
    for lesson in lessons:
        without, with_it = order(lesson, "off"), order(lesson, way)
        if lesson.positives and lesson.negatives and without is not None and with_it is not None:
            yield share_in_order(lesson, without), share_in_order(lesson, with_it)


def share_in_order(lesson: KeptLesson, order: Sequence[UUID]) -> float:
    """How often a positive comes before a negative, 0 to 1; two that were not found count half."""
    places = {one: place for place, one in enumerate(order)}
    pairs = [
        (places.get(good, len(order)), places.get(poor, len(order)))
        for good, poor in product(lesson.positives, lesson.negatives)
    ]
    return fmean(1.0 if good < poor else 0.5 if good == poor else 0.0 for good, poor in pairs)


def _gain(way: Way, shares: Sequence[tuple[float, float]]) -> Gain:
    if not shares:
        return Gain(way, 0.0, 0.0, 0.0, 0)
    before, after = (fmean(side) for side in zip(*shares, strict=True))
    differences = [with_it - without for without, with_it in shares]
    error = stdev(differences) / len(differences) ** 0.5 if len(differences) > 1 else 0.0
    return Gain(way, before, after, error, len(shares))
