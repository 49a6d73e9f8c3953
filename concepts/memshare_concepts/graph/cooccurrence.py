"""With which other concepts a concept occurs in the same memories, how often, and how much more general they are."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Members = NDArray[np.int32]
"""The concepts of a memory, of shape (2, concepts): their numbers, and their levels in sixtieths."""


class Cooccurrence(NamedTuple):
    """The concepts that one occurs with, by their numbers, which rise."""

    others: NDArray[np.int32]
    counts: NDArray[np.int32]
    """In how many memories both are (n_ij)."""
    levels: NDArray[np.int32]
    """Over these memories, the sum of what the other's level is above its own, in sixtieths."""

    def changed(self, number: int, members: Members, by: int) -> Cooccurrence:
        """With one memory of the concept `number` more (`by` 1) or less (-1)."""
        others, levels = _neighbours(number, members)
        places = np.searchsorted(self.others, others)
        if by > 0:
            inside = np.minimum(places, len(self.others) - 1)
            new = self.others[inside] != others
            found = (
                Cooccurrence(
                    *(np.insert(old, places[new], fresh) for old, fresh in zip(self, (others[new], 0, 0), strict=True))
                )
                if new.any()
                else self
            )
            places = np.searchsorted(found.others, others)
        else:
            found = self
        found.counts[places] += by
        found.levels[places] += by * levels
        if by < 0 and not found.counts[places].all():
            left = found.counts > 0
            return Cooccurrence(found.others[left], found.counts[left], found.levels[left])
        return found

    def without(self, numbers: Collection[int]) -> Cooccurrence:
        """All but some concepts."""
        if not numbers:
            return self
        left = ~np.isin(self.others, list(numbers))
        return Cooccurrence(self.others[left], self.counts[left], self.levels[left])


def counted(number: int, memories: Sequence[Members]) -> Cooccurrence:
    """What the concept `number` occurs with in its memories."""
    if not memories:
        return Cooccurrence(*(np.empty(0, np.int32) for _ in range(3)))
    together = np.concatenate(memories, axis=1)
    own = together[0] == number
    above = together[1] - np.repeat(together[1][own], [one.shape[1] for one in memories])
    # Number and level in one, as numbers sort many times faster than their places.
    pairs = np.sort((together[0][~own].astype(np.int64) << 32) + above[~own])
    others = (pairs + (1 << 31)) >> 32
    first = np.flatnonzero(np.diff(others, prepend=-1))
    if not len(first):
        return Cooccurrence(*(np.empty(0, np.int32) for _ in range(3)))
    counts = np.diff(first, append=len(others)).astype(np.int32)
    levels = np.add.reduceat(pairs - (others << 32), first).astype(np.int32)
    return Cooccurrence(others[first].astype(np.int32), counts, levels)


def _neighbours(number: int, members: Members) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The other concepts of a memory by rising number, and by how much their levels are above the concept's."""
    own = members[0] == number
    order = np.argsort(members[0][~own])
    return members[0][~own][order], (members[1][~own] - members[1][own])[order]
