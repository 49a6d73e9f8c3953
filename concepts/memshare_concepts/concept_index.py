"""Which memory has which concepts, and the other way round: all that the graph is made of; and how concepts are linked.

Everything that is kept is a whole number, so what is added and taken out again leaves nothing behind, to the last bit.

A concept is linked to those that it occurs with often, and more often than with others of that level, after Tom Hartke,
knowledge-graph-from-GPT (2023). With n_i memories of concept i, and n_ij of both i and j:

    c_ij = n_ij / n_i                                  how often j is there too
    a_ij = mean of level(j) - level(i)                 how much more general j is
    W_ij = concepts k with |a_ik - a_ij| <= 1.51       those of about the same level
    q_ij = lower bound of c_ij: the EPSILON quantile of Beta(1 + n_ij, 1 + n_i - n_ij)
    s_ij = share of Beta(1 + K, 1 + n_i |W_ij| - K) below q_ij, K = sum of n_ik over W_ij
    r_ij = c_ij s_ij

So s_ij is the probability that concepts of that level occur with i more seldom than j does. The description of the
original has an upper bound of what is expected; its code, which is followed here, a lower bound of what was seen.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from hashlib import blake2b
from typing import NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv

from memshare_concepts import names
from memshare_concepts.extraction import Levels

Members = NDArray[np.int32]
"""The concepts of a memory, of shape (2, concepts): their numbers, and their levels in sixtieths."""


class Cooccurrence(NamedTuple):
    """The concepts that one occurs with, by their numbers, which rise."""

    others: NDArray[np.int32]
    counts: NDArray[np.int32]  # in how many memories both are (n_ij)
    levels: NDArray[np.int32]  # over these memories, the sum of what the other's level is above its own, in sixtieths

    def changed(self, number: int, members: Members, by: int) -> Cooccurrence:
        """With one memory of the concept `number` more (`by` 1) or less (-1)."""
        others, levels = _neighbours(number, members)
        found, places = self, np.searchsorted(self.others, others)
        new = self.others[np.minimum(places, len(self.others) - 1)] != others
        if by > 0 and new.any():
            parts = zip(self, (others[new], 0, 0), strict=True)
            found = Cooccurrence(*(np.insert(old, places[new], fresh) for old, fresh in parts))
            places = np.searchsorted(found.others, others)
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
    """The concepts that occur with the concept `number` in its memories."""
    if not memories:
        return Cooccurrence(*(np.empty(0, np.int32) for _ in range(3)))
    together = np.concatenate(memories, axis=1)
    own = together[0] == number
    above = together[1] - np.repeat(together[1][own], [rows.shape[1] for rows in memories])
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


LEVEL_UNIT = 60  # levels are kept in sixtieths: the mean of any of the six levels is a whole number of them

KEPT_FROM = 256
"""From so many memories on, what a concept occurs with is kept up to date. For others it is counted when asked for."""


class ConceptIndex:
    """Concepts have numbers while they have memories. A number that is free is used again."""

    def __init__(self, key: Callable[[str], str]) -> None:
        self.key = key
        self._numbers: dict[str, int] = {}
        self._keys: list[str] = []
        self._spellings: list[Counter[str]] = []
        self._holders: list[array[int]] = []
        self._free: list[int] = []
        self._slots: dict[UUID, int] = {}
        self._ids: list[UUID | None] = []
        self._members: list[Members] = []
        self._spelled: list[tuple[str, ...]] = []
        self._has_topic: list[bool] = []
        self._free_slots: list[int] = []
        self._kept: dict[int, Cooccurrence] = {}
        self.order = np.zeros(0, np.uint64)
        """For each number a value that depends on the concept alone: what decides between equals."""

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, memory: UUID) -> bool:
        return memory in self._slots

    def add(self, memory: UUID, levels: Levels) -> list[int]:
        """Add a memory that is not there, and return the numbers of its concepts."""
        found: dict[str, set[int]] = {}
        spelled: dict[str, str] = {}
        for level in sorted(levels, key=abs):  # the topic first
            for name in levels[level]:
                key = self.key(name)
                found.setdefault(key, set()).add(level)
                spelled.setdefault(key, name)
        members = np.array(
            [[self._number(key) for key in found], [sum(of) * LEVEL_UNIT // len(of) for of in found.values()]], np.int32
        ).reshape(2, -1)
        slot = self._free_slots.pop() if self._free_slots else len(self._members)
        if slot == len(self._members):
            self._members.append(members)
            self._ids.append(memory)
            self._spelled.append(())
            self._has_topic.append(False)
        self._members[slot], self._ids[slot], self._spelled[slot] = members, memory, tuple(spelled.values())
        self._slots[memory], self._has_topic[slot] = slot, bool(levels.get(0))
        numbers: list[int] = members[0].tolist()
        for number, name in zip(numbers, spelled.values(), strict=True):
            self._holders[number].append(slot)
            self._spellings[number][name] += 1
        self._keep_up(members, +1)
        return numbers

    def forget(self, memory: UUID) -> list[int]:
        """Take a memory out and return the numbers that its concepts had. Raises KeyError for one that is not there."""
        slot = self._slots.pop(memory)
        members, spelled = self._members[slot], self._spelled[slot]
        self._members[slot], self._ids[slot], self._spelled[slot] = np.empty((2, 0), np.int32), None, ()
        self._free_slots.append(slot)
        numbers: list[int] = members[0].tolist()
        for number, name in zip(numbers, spelled, strict=True):
            self._holders[number].remove(slot)
            self._spellings[number] -= Counter((name,))
        self._keep_up(members, -1)
        for number in numbers:
            if not self._holders[number]:
                del self._numbers[self._keys[number]]
                self._free.append(number)
        return numbers

    def topic(self, memory: UUID) -> int | None:
        """The number of what a memory is about; None where no level 0 was given. KeyError for an unknown memory."""
        slot = self._slots[memory]
        return int(self._members[slot][0, 0]) if self._has_topic[slot] else None

    def number(self, name: str) -> int | None:
        """The number of a concept, in any spelling; None where no memory has it."""
        return self._numbers.get(self.key(name))

    def numbers(self) -> list[int]:
        """The numbers in use, in the order of the concepts' keys."""
        return [self._numbers[key] for key in sorted(self._numbers)]

    def name(self, number: int) -> str:
        """The spelling that most memories have; of several the first in the alphabet.

        Where other concepts were merged into it, those spellings count that are its own.
        """
        spellings = self._spellings[number]
        if len(spellings) == 1:
            return next(iter(spellings))
        own = self._keys[number]
        return min(spellings.items(), key=lambda pair: (names.key(pair[0]) != own, -pair[1], pair[0]))[0]

    def count(self, number: int) -> int:
        return len(self._holders[number])

    def counts(self, numbers: Iterable[int]) -> NDArray[np.int64]:
        return np.array([len(self._holders[number]) for number in numbers], np.int64)

    def holders(self, number: int) -> list[UUID]:
        """The memories that have a concept, in the order of their ids."""
        return sorted(memory for slot in self._holders[number] if (memory := self._ids[slot]) is not None)

    def memories(self) -> list[UUID]:
        return sorted(self._slots)

    def everywhere(self) -> frozenset[int]:
        """The concepts that all memories have, where there are two memories or more."""
        if len(self) < 2:
            return frozenset()
        numbers: list[int] = self.members(next(iter(self._slots)))[0].tolist()
        return frozenset(number for number in numbers if self.count(number) == len(self))

    def members(self, memory: UUID) -> Members:
        """The numbers of a memory's concepts, and their levels in sixtieths. Raises KeyError for an unknown memory."""
        return self._members[self._slots[memory]]

    def cooccurrence(self, number: int) -> Cooccurrence:
        found = self._kept.get(number)
        if found is None:
            found = counted(number, [self._members[slot] for slot in self._holders[number]])
            if len(self._holders[number]) >= KEPT_FROM:
                self._kept[number] = found
        return found

    def count_frequent(self) -> None:
        """Count what is kept up to date now, rather than when it is asked for."""
        for number, holders in enumerate(self._holders):
            if len(holders) >= KEPT_FROM:
                self.cooccurrence(number)

    def _keep_up(self, members: Members, by: int) -> None:
        for number in members[0].tolist():
            if number in self._kept:
                if len(self._holders[number]) < KEPT_FROM:
                    del self._kept[number]
                else:
                    self._kept[number] = self._kept[number].changed(number, members, by)

    def _number(self, key: str) -> int:
        number = self._numbers.get(key)
        if number is None:
            number = self._free.pop() if self._free else len(self._keys)
            if number == len(self._keys):
                self._keys.append(key)
                self._spellings.append(Counter())
                self._holders.append(array("I"))
                if number == len(self.order):
                    self.order = np.concatenate([self.order, np.zeros(max(1024, number // 2), np.uint64)])
            self._keys[number] = key
            self._numbers[key] = number
            self.order[number] = int.from_bytes(blake2b(key.encode(), digest_size=8).digest())
        return number


WINDOW = 1.51  # levels
EPSILON = 0.025


class Links(NamedTuple):
    """The links of one concept, all of the same length."""

    others: NDArray[np.int32]
    counts: NDArray[np.int32]
    strength: NDArray[np.float64]  # c_ij
    abstraction: NDArray[np.float64]  # a_ij, in levels: above 0 where the other is more general
    significance: NDArray[np.float64]  # s_ij
    weight: NDArray[np.float64]  # r_ij


def links(
    count: int, beside: Cooccurrence, order: NDArray[np.uint64], most: int | None = None, epsilon: float = EPSILON
) -> Links:
    """The links of a concept with `count` memories: all by the others' numbers, or the `most` with the largest weight.

    Where weights are equal at the limit, `order`, a value of every concept, decides.
    """
    if not len(beside.others):
        return Links(beside.others, beside.counts, *(np.empty(0) for _ in range(4)))
    codes = (beside.counts.astype(np.int64) << 32) + beside.levels
    kinds = _kinds(codes)
    weighed = _weighed(count, kinds, most, epsilon)
    if most is not None and len(codes) > most:
        heavy = np.argsort(-weighed.weight, kind="stable")
        last = int(np.searchsorted(np.cumsum(kinds.members[weighed.kinds][heavy]), most))
        weighed = weighed.only(weighed.weight >= weighed.weight[heavy[min(last, len(heavy) - 1)]])
    by_code = weighed.only(np.argsort(weighed.kinds))
    wanted = kinds.codes[by_code.kinds]
    places = np.flatnonzero(beside.counts >= kinds.counts[by_code.kinds[0]])
    at = np.minimum(np.searchsorted(wanted, codes[places]), len(wanted) - 1)
    inside = wanted[at] == codes[places]
    places, at = places[inside], at[inside]
    if most is not None:
        first = np.lexsort((order[beside.others[places]], -by_code.weight[at]))[:most]
        places, at = places[first], at[first]
    return Links(
        beside.others[places],
        beside.counts[places],
        beside.counts[places] / count,
        kinds.abstraction[by_code.kinds[at]],
        by_code.significance[at],
        by_code.weight[at],
    )


class _Kinds(NamedTuple):
    """The different pairs of count and levels. Many links are of one kind, and it is weighed once."""

    codes: NDArray[np.int64]  # count and levels in one number; they rise, and so do the counts
    members: NDArray[np.int64]  # how many links are of each kind
    counts: NDArray[np.int64]
    abstraction: NDArray[np.float64]
    rising: NDArray[np.float64]  # `abstraction`, sorted
    up_to: NDArray[np.int64]  # how many links the first kinds of `rising` have
    sum_up_to: NDArray[np.int64]  # the sum of their counts

    def window(self, places: NDArray[np.intp]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """|W_ij| and K of some kinds."""
        low = np.searchsorted(self.rising, self.abstraction[places] - WINDOW, side="left")
        high = np.searchsorted(self.rising, self.abstraction[places] + WINDOW, side="right")
        return self.up_to[high] - self.up_to[low], self.sum_up_to[high] - self.sum_up_to[low]


class _Weighed(NamedTuple):
    """Kinds, by their places, with their weights."""

    kinds: NDArray[np.intp]
    significance: NDArray[np.float64]
    weight: NDArray[np.float64]

    def only(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> _Weighed:
        return _Weighed(self.kinds[which], self.significance[which], self.weight[which])


def _kinds(codes: NDArray[np.int64]) -> _Kinds:
    ordered = np.sort(codes)
    first = np.flatnonzero(np.diff(ordered, prepend=-1))
    different = ordered[first]
    members = np.diff(first, append=len(ordered))
    counts = (different + (1 << 31)) >> 32
    abstraction = (different - (counts << 32)) / (LEVEL_UNIT * counts)
    by_level = np.argsort(abstraction)
    up_to = np.concatenate([[0], np.cumsum(members[by_level])])
    sum_up_to = np.concatenate([[0], np.cumsum((members * counts)[by_level])])
    return _Kinds(different, members, counts, abstraction, abstraction[by_level], up_to, sum_up_to)


def _weighed(count: int, kinds: _Kinds, most: int | None, epsilon: float) -> _Weighed:
    """The weights of all kinds, or of so many that all others are below the `most` heaviest links.

    As s_ij is at most 1, r_ij is at most c_ij: kinds are weighed by falling counts until the rest cannot matter.
    """
    falling = np.arange(len(kinds.codes))[::-1]
    step = len(falling) if most is None else max(256, most)
    done = _Weighed(np.empty(0, np.intp), np.empty(0), np.empty(0))
    for start in range(0, len(falling), step):
        bound = kinds.counts[falling[start]] / count
        if most is not None and kinds.members[done.kinds[done.weight > bound]].sum() >= most:
            break
        places = falling[start : start + step]
        together = kinds.counts[places]
        within, sum_within = kinds.window(places)
        different, which = np.unique(together, return_inverse=True)
        lower_bound = betaincinv(1 + different, 1 + count - different, epsilon)[which]
        significance = betainc(1 + sum_within, 1 + count * within - sum_within, lower_bound)
        weights = together / count * significance
        done = _Weighed(
            np.concatenate([done.kinds, places]),
            np.concatenate([done.significance, significance]),
            np.concatenate([done.weight, weights]),
        )
    return done
