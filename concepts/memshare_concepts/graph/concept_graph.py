"""The graph of concepts of a pool: which are linked, and the vectors of concepts and memories.

It is a function of which memory has which concepts: a graph from which a memory was taken out is, to the last bit,
the graph of the others. Memories come and go one at a time, at a cost that hardly depends on how many there are.

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

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import betainc, betaincinv

from memshare_concepts import names
from memshare_concepts.extraction import Levels
from memshare_concepts.graph.concept_index import LEVEL_UNIT, ConceptIndex, Cooccurrence
from memshare_concepts.graph.weights import Vector, trimmed

WINDOW = 1.51  # levels
EPSILON = 0.025


class Links(NamedTuple):
    """The links of one concept, all of the same length."""

    others: NDArray[np.int32]
    counts: NDArray[np.int32]
    strength: NDArray[np.float64]
    """c_ij"""
    abstraction: NDArray[np.float64]
    """a_ij, in levels: above 0 where the other is more general."""
    significance: NDArray[np.float64]
    """s_ij"""
    weight: NDArray[np.float64]
    """r_ij"""


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

    codes: NDArray[np.int64]
    """Count and levels in one number; they rise, and so do the counts."""
    members: NDArray[np.int64]
    """How many links are of each kind."""
    counts: NDArray[np.int64]
    abstraction: NDArray[np.float64]
    rising: NDArray[np.float64]
    """`abstraction`, sorted."""
    up_to: NDArray[np.int64]
    """How many links the first kinds of `rising` have."""
    sum_up_to: NDArray[np.int64]
    """The sum of their counts."""

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


LINKS, WEIGHTS = 64, 128
"""How many links a concept's vector is made of, and how many weights a memory's vector has."""

Sparse = tuple[NDArray[np.int32], NDArray[np.float64]]
"""Numbers of concepts, and their weights, which sum to 1."""


@dataclass(frozen=True)
class ConceptLink:
    """How one concept is linked to another; `memshare_concepts.graph.concept_graph` explains the figures."""

    name: str
    count: int
    """In how many memories both are."""
    strength: float
    abstraction: float
    """How much more general the other is, in levels."""
    significance: float
    weight: float


class ConceptGraph:
    """Counts, links and vectors of the concepts of some memories.

    `key` says which spellings are one concept: `names.key`, or `Aliases.key` where concepts were merged. With
    `most_links` and `most_weights` None, vectors are whole.
    """

    def __init__(
        self,
        memories: Mapping[UUID, Levels] | None = None,
        *,
        key: Callable[[str], str] = names.key,
        epsilon: float = EPSILON,
        most_links: int | None = LINKS,
        most_weights: int | None = WEIGHTS,
    ) -> None:
        self.index = ConceptIndex(key)
        self._epsilon, self._most_links, self._most_weights = epsilon, most_links, most_weights
        self._vectors: dict[int, Sparse] = {}
        self._everywhere: frozenset[int] = frozenset()
        for memory, levels in (memories or {}).items():
            self.add(memory, levels)
        self.index.count_frequent()

    def __len__(self) -> int:
        return len(self.index)

    def __contains__(self, memory: UUID) -> bool:
        return memory in self.index

    def add(self, memory: UUID, levels: Levels) -> None:
        """Add a memory with its concepts, in place of those that it had."""
        if memory in self.index:
            self.forget(memory)
        self._changed(self.index.add(memory, levels))

    def forget(self, memory: UUID) -> None:
        """Take a memory out. Raises KeyError for one that is not there."""
        self._changed(self.index.forget(memory))

    def concepts(self) -> list[str]:
        """The names of all concepts, in the order of their keys."""
        return [self.index.name(number) for number in self.index.numbers()]

    def count(self, name: str) -> int:
        """How many memories have a concept; 0 for one that nobody named."""
        number = self.index.number(name)
        return 0 if number is None else self.index.count(number)

    def memories(self, name: str) -> list[UUID]:
        """The memories that have a concept, in the order of their ids."""
        number = self.index.number(name)
        return [] if number is None else self.index.holders(number)

    def levels(self, memory: UUID) -> dict[str, float]:
        """A memory's concepts with their levels, the most general first. Raises KeyError for an unknown memory."""
        numbers, levels = self.index.members(memory).tolist()
        found = [(self.index.name(number), level / LEVEL_UNIT) for number, level in zip(numbers, levels, strict=True)]
        return dict(sorted(found, key=lambda pair: (-pair[1], pair[0])))

    def topic(self, memory: UUID) -> str | None:
        """The topic of a memory. Raises KeyError for an unknown memory."""
        number = self.index.topic(memory)
        return None if number is None else self.index.name(number)

    def links(self, name: str) -> list[ConceptLink]:
        """All links of a concept, the heaviest first."""
        number = self.index.number(name)
        if number is None:
            return []
        columns = (column.tolist() for column in self._links(number, self.index.cooccurrence(number), None))
        found = (ConceptLink(self.index.name(other), *figures) for other, *figures in zip(*columns, strict=True))
        return sorted(found, key=lambda link: (-link.weight, -link.strength, link.name))

    def vector(self, name: str, *, steps: int = 1) -> dict[str, float]:
        """A concept's vector: half of it the concept itself, half its links, e_i = (delta_i + r_i / sum(r_i)) / 2.

        In two `steps` it is the mean of the vectors of what e_i has, and reaches concepts that share no memory with it.
        A concept that nobody named has the empty vector.
        """
        number = self.index.number(name)
        if number is None:
            return {}
        numbers, weights = self._vector(number)
        for _ in range(steps - 1):
            numbers, weights = self._sum(zip(numbers.tolist(), weights.tolist(), strict=True), None)
        return self._named((numbers, weights))

    def vector_of(self, names: Iterable[str]) -> dict[str, float]:
        """The vector of several concepts: of a question, a memory or a cluster. Rare concepts weigh more.

        v ~ sum of idf_i e_i, idf_i = ln(1 + (m - n_i + .5) / (n_i + .5)). Names that no memory has are left out, and
        so are, if there are others, those that all memories have: they tell none from another.
        """
        return self._named(self._of(number for name in names if (number := self.index.number(name)) is not None))

    def memory_vector(self, memory: UUID) -> dict[str, float]:
        """The vector of a memory's concepts. Raises KeyError for an unknown memory."""
        return self._named(self._of(self.index.members(memory)[0].tolist()))

    def matrix(self, memories: Sequence[UUID]) -> sparse.csr_array[np.float64]:
        """The square roots of the vectors of memories, one a row: the product of two rows is their similarity.

        Columns are the concepts, as `concepts` lists them.
        """
        used = np.array(self.index.numbers(), np.int32)
        places = np.zeros(len(self.index.order), np.int32)
        places[used] = np.arange(len(used))
        rows = [self._of(self.index.members(memory)[0].tolist()) for memory in memories]
        ends = np.cumsum([0, *(len(numbers) for numbers, _ in rows)])
        columns = places[np.concatenate([np.empty(0, np.int32), *(numbers for numbers, _ in rows)])]
        values = np.sqrt(np.concatenate([np.empty(0), *(weights for _, weights in rows)]))
        found = sparse.csr_array((values, columns, ends), shape=(len(rows), len(used)))
        found.sort_indices()
        return found

    def relative_abstraction(self, first: Vector, second: Vector) -> float:
        """How much more general the second vector is than the first, in levels.

        The mean of a_ij over their concepts, by the products of their weights, without the smallest tenth of each;
        concepts without a common memory count as equally general.
        """
        first, second = trimmed(first, 0.1), trimmed(second, 0.1)
        parts = []
        for name, weight in first.items():
            above = {link.name: link.abstraction for link in self.links(name)}
            parts += [above[other] * weight * second[other] for other in second if other in above]
        return fsum(parts) / (fsum(first.values()) * fsum(second.values())) if first and second else 0.0

    def _changed(self, numbers: list[int]) -> None:
        for number in numbers:
            self._vectors.pop(number, None)
        everywhere = self.index.everywhere()
        if everywhere != self._everywhere:
            self._vectors.clear()
            self._everywhere = everywhere

    def _links(self, number: int, beside: Cooccurrence, most: int | None) -> Links:
        return links(self.index.count(number), beside, self.index.order, most, self._epsilon)

    def _vector(self, number: int) -> Sparse:
        found = self._vectors.get(number)
        if found is None:
            beside = self.index.cooccurrence(number).without(self._everywhere)
            linked = self._links(number, beside, self._most_links)
            total = fsum(linked.weight)
            own = np.array([number], np.int32), np.ones(1)
            if total > 0:
                shares = np.concatenate([own[1], linked.weight / total]) / 2
                own = np.concatenate([own[0], linked.others])[shares > 0], shares[shares > 0]
            found = self._vectors[number] = own
        return found

    def _of(self, numbers: Iterable[int]) -> Sparse:
        named = set(numbers)
        chosen = sorted(named - self._everywhere or named, key=self.index.order.__getitem__)
        counts = self.index.counts(chosen)
        rarity = np.log1p((len(self.index) - counts + 0.5) / (counts + 0.5))
        return self._sum(zip(chosen, rarity.tolist(), strict=True), self._most_weights)

    def _sum(self, parts: Iterable[tuple[int, float]], most: int | None) -> Sparse:
        """The sum of concepts' vectors, each times its factor, with the `most` largest weights, which sum to 1."""
        vectors = [(self._vector(number), factor) for number, factor in parts]
        if not vectors:
            return np.empty(0, np.int32), np.empty(0)
        numbers = np.concatenate([vector[0] for vector, _ in vectors])
        weights = np.concatenate([vector[1] * factor for vector, factor in vectors])
        different, place = np.unique(numbers, return_inverse=True)
        sums = np.bincount(place, weights)
        first = np.lexsort((self.index.order[different], -sums))[:most]
        return different[first], sums[first] / fsum(sums[first])

    def _named(self, vector: Sparse) -> dict[str, float]:
        return {
            self.index.name(number): weight
            for number, weight in zip(*(column.tolist() for column in vector), strict=True)
        }
