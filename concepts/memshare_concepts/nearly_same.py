"""Memories that a person may want to look at: nearly the same as another, of few words, or never of use to a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memshare_memory.door.messages import JudgedMemory
from memshare_memory.memory import Memory

SAME = 0.95
"""Cosine of two memories' texts from which they are nearly the same."""

THIN = 0.1
"""An answer is thin with at most so much of the words that answers of its pool and kind usually have."""

_DAY = 86_400.0  # seconds
_ROWS = 1024  # memories that are compared with all others at a time


class Duplicate(NamedTuple):
    """Two memories that are found by nearly the same text; the older one first."""

    memories: tuple[UUID, UUID]
    cosine: float


class Thin(NamedTuple):
    """A memory with a much shorter answer than others of its kind."""

    memory: UUID
    words: int
    usual: float


def duplicates(memories: Sequence[Memory], vectors: NDArray[np.float32]) -> list[Duplicate]:
    """Pairs with a cosine of `SAME` or more, the most alike first; `vectors` are of length 1, in the same order."""
    found = []
    for start in range(0, len(memories), _ROWS):
        cosines = vectors[start : start + _ROWS] @ vectors.T
        for row, column in zip(*np.nonzero(cosines >= SAME), strict=True):
            if start + row < column:
                pair = sorted((memories[start + row], memories[column]), key=lambda one: (one.created, one.id))
                found.append(Duplicate((pair[0].id, pair[1].id), min(float(cosines[row, column]), 1.0)))
    return sorted(found, key=lambda one: (-one.cosine, one.memories))


def thin(memories: Sequence[Memory]) -> list[Thin]:
    """Memories with few words in their answers, compared with those of the same kind; the shortest first."""
    words: dict[str | None, list[int]] = {}
    for memory in memories:
        words.setdefault(memory.kind, []).append(len(memory.answer.split()))
    usual = {kind: median(counts) for kind, counts in words.items()}
    found = [Thin(one.id, len(one.answer.split()), usual[one.kind]) for one in memories]
    return sorted((one for one in found if one.words <= THIN * one.usual), key=lambda one: (one.words, one.memory))


def never_of_use(judged: Mapping[UUID, JudgedMemory], now: float, days: int) -> list[UUID]:
    """Memories that no graded task was shown for at least so many days since they were made, the oldest first."""
    old = [one for one in judged.values() if one.credibility.credits == 0 and now - one.memory.created >= days * _DAY]
    return [one.memory.id for one in sorted(old, key=lambda one: (one.memory.created, one.memory.id))]
