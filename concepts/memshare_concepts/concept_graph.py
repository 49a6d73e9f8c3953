"""The graph of concepts of a pool, and vectors whose dimensions are concepts: of concepts and of memories.

It is a function of which memory has which concepts: a graph from which a memory was taken out is, to the last bit,
the graph of the others. Memories come and go one at a time, at a cost that hardly depends on how many there are.

A vector is a mapping from names to weights above 0 that sum to 1. Sums are exact (`math.fsum`), so that none depends
on the order of the names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum, log, sqrt
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from memshare_concepts import names
from memshare_concepts.concept_index import EPSILON, LEVEL_UNIT, ConceptIndex, Cooccurrence, Links, links
from memshare_concepts.extraction import Levels

LINKS, WEIGHTS = 64, 128  # how many links a concept's vector is made of, and how many weights a memory's vector has

Sparse = tuple[NDArray[np.int32], NDArray[np.float64]]
"""Numbers of concepts, and their weights, which sum to 1."""


@dataclass(frozen=True)
class ConceptLink:
    """How one concept is linked to another; `memshare_concepts.concept_index` explains the figures."""

    name: str
    count: int  # in how many memories both are
    strength: float
    abstraction: float  # how much more general the other is, in levels
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


Vector = Mapping[str, float]


def similarity(first: Vector, second: Vector) -> float:
    """How alike two vectors are, from 0 to 1: the sum of the square roots of their products."""
    return fsum(contributions(first, second).values())


def contributions(first: Vector, second: Vector) -> dict[str, float]:
    """The part that each shared name adds to the similarity, the largest part first."""
    shared = {name: sqrt(weight * second[name]) for name, weight in first.items() if name in second}
    return dict(sorted(shared.items(), key=lambda pair: (-pair[1], pair[0])))


def normalised(weights: Mapping[str, float]) -> dict[str, float]:
    """Weights that sum to 1, the largest first. Those of 0 are left out."""
    total = fsum(weights.values())
    found = {name: weight / total for name, weight in weights.items() if weight > 0}
    return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))


def mean(vectors: Iterable[tuple[float, Vector]]) -> dict[str, float]:
    """The weighted mean of vectors, each with its weight."""
    parts: dict[str, list[float]] = {}
    for share, vector in vectors:
        for name, weight in vector.items():
            parts.setdefault(name, []).append(share * weight)
    return normalised({name: fsum(of) for name, of in parts.items()})


def intersection(vectors: Sequence[Vector]) -> dict[str, float]:
    """Intersection of vectors: the geometric mean of each weight. Equal vectors give themselves.

    Vectors without a name that all have give their mean, as nothing says more about them.
    """
    shared = set(vectors[0]).intersection(*vectors[1:]) if vectors else set()
    if not shared:
        return mean((1.0, vector) for vector in vectors)
    return normalised(
        {name: exp(fsum(log(vector[name]) for vector in vectors) / len(vectors)) for name in sorted(shared)}
    )


def trimmed(vector: Vector, share: float) -> dict[str, float]:
    """A vector without its smallest entries, as long as these make up less than `share` of its sum."""
    left = share * fsum(vector.values())
    found = dict(sorted(vector.items(), key=lambda pair: (-pair[1], pair[0])))
    for name, weight in reversed(list(found.items())):
        left -= weight
        if left <= 0:
            break
        del found[name]
    return found
