"""An example as the learner sees it, and how it is ranked; by numpy alone: who only looks needs no torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from memshare_memory.recall.adapter import Adapter
from memshare_trainer.lessons.ranking_quality import Array

UNDECIDED = 0.5  # of P(¬Y), and of a gain: on one side of it a memory helps, on the other it misleads
LEAST_SPREAD = 0.2  # of the numbers of a list that are all on one side


def border(numbers: Sequence[float]) -> float | None:
    """What parts the labels or gains of a list into better and worse; None where they are all alike.

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
        """Whether it is a list in which every memory is labelled."""
        return not np.isnan(self.gains).any() and len(self.ids) > 1


def scores(adapter: Adapter, examples: Sequence[Example]) -> list[Array]:
    """What the memories of each example are ranked by."""
    sizes = [len(one.ids) for one in examples]
    queries = np.repeat(np.stack([one.query for one in examples]), sizes, axis=0)
    documents = np.concatenate([one.documents for one in examples])
    together = adapter.scores(queries, documents, [name for one in examples for name in one.submitters])
    return np.split(together, np.cumsum(sizes)[:-1])


def gains_of(examples: Sequence[Example]) -> list[Array]:
    """The gain of each memory; one that stood beside a followed one, of which nobody knows, gets the mean of those."""
    known = [float(one.gains[0]) for one in examples if not one.is_lesson]
    usual = np.float32(np.mean(known) if known else 0.5)
    return [np.where(np.isnan(one.gains), usual, one.gains) for one in examples]
