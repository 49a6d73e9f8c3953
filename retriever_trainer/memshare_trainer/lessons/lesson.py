"""Examples as the learner ranks them, and what a user feels of a ranking before a change and after it; by numpy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memshare_broker.wire.messages import Message
from memshare_memory.recall.retriever import Adapter


class Figure(Message):
    """The means before and after, and the standard error of the difference where there is one."""

    before: float
    after: float
    error: float = 0.0

    @property
    def worse(self) -> bool:
        """It fell by more than its error."""
        return self.fell(1)

    def fell(self, errors: float) -> bool:
        """It fell by more than so many of its errors."""
        return self.after - self.before < -errors * self.error


UNDECIDED = 0.5  # of P(¬Y), and of a gain: on one side of it a memory helps, on the other it misleads
LEAST_SPREAD = 0.2  # of the numbers of a list that are all on one side


def border(numbers: Sequence[float]) -> float | None:
    """Border between the better and the worse labels or gains of a list; None where they are all alike.

    Where all help, or all mislead, that is the middle between the lowest and the highest: a pool of one form has an
    order, too, as INMS has it, which takes the lower and the upper half (arXiv 2404.09982).
    """
    low, high = min(numbers, default=UNDECIDED), max(numbers, default=UNDECIDED)
    if low < UNDECIDED < high:
        return UNDECIDED
    return (low + high) / 2 if high - low >= LEAST_SPREAD else None


@dataclass(frozen=True)
class Example:
    """A prompt, and memories that are known to help there or not.

    A labelled lesson knows the gain of each memory. Evidence knows that of the first one alone, which was followed; the
    others stood beside it, and have no number (NaN).
    """

    query: Array  # (dimension,), of length 1
    documents: Array  # (documents, dimension), each of length 1
    gains: Array  # (documents,), 0 misleads to 1 helps; NaN where that is not known
    ids: tuple[UUID, ...]
    submitters: tuple[str, ...]
    by: str
    """Whose answer, or whose word, says so."""
    weight: float = 1.0

    @property
    def is_lesson(self) -> bool:
        """True if it is a list in which every memory is labelled."""
        return not np.isnan(self.gains).any() and len(self.ids) > 1


def scores(adapter: Adapter, examples: Sequence[Example]) -> list[Array]:
    """The scores by which the memories of each example are ranked."""
    sizes = [len(example.ids) for example in examples]
    queries = np.repeat(np.stack([example.query for example in examples]), sizes, axis=0)
    documents = np.concatenate([example.documents for example in examples])
    together = adapter.scores(queries, documents, [name for example in examples for name in example.submitters])
    return np.split(together, np.cumsum(sizes)[:-1])


def gains_of(examples: Sequence[Example]) -> list[Array]:
    """The gain of each memory; one that stood beside a followed one, of which nobody knows, gets the mean of those."""
    known = [float(example.gains[0]) for example in examples if not example.is_lesson]
    usual = np.float32(np.mean(known) if known else 0.5)
    return [np.where(np.isnan(example.gains), usual, example.gains) for example in examples]


Array = NDArray[np.float32]


class RankingComparison(NamedTuple):
    """Two rankings of the same lessons."""

    first: Figure  # gain of the candidate that is ranked first
    ndcg: Figure  # of all candidates
    lessons: int

    @property
    def worse(self) -> bool:
        """True if one of the two figures fell by more than its error."""
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
