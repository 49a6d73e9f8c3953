"""Clusters of memories that are alike, in levels (children partition their parent), and what each is about.

They are found by Leiden on the graph of each memory's nearest neighbours, level by level. It begins from the clusters
of the pool before, so that a new memory moves few others, and numbers stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

import graspologic_native
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from memshare_concepts.concept_graph import ConceptGraph

MOST = 10  # topics of a cluster


def described(graph: ConceptGraph, ids: Sequence[UUID], of: NDArray[np.int32]) -> Clusters:
    """The clusters of memories; `of` has the number of each, of shape (levels, memories), the top level first."""
    members: list[dict[int, list[UUID]]] = [{} for _ in of]
    parents: dict[int, int] = {}
    children: dict[int, set[int]] = {}
    for depth, level in enumerate(of.tolist()):
        for place, number in enumerate(level):
            members[depth].setdefault(number, []).append(ids[place])
            if depth:
                parents[number] = int(of[depth - 1, place])
                children.setdefault(parents[number], set()).add(number)
    clusters: list[Cluster] = []
    for level, of_level in enumerate(members):
        for number, its in sorted(of_level.items(), key=lambda found: (-len(found[1]), found[1][0])):
            below = tuple(sorted(children.get(number, ())))
            clusters.append(Cluster(number, level, tuple(its), topics(graph, its), parents.get(number), below))
    return Clusters(clusters)


def topics(graph: ConceptGraph, memories: Sequence[UUID]) -> tuple[Topic, ...]:
    """The concepts of some memories of a graph by share times log(lift), of those with a lift above 1.

    A concept of every memory of the pool has a lift of 1, and one that a single memory of many has a small share: so a
    cluster is headed neither by what everything is about, nor by what only one of its memories is about.
    """
    if not memories:
        return ()
    index = graph.index
    numbers, counts = np.unique(np.concatenate([index.members(memory)[0] for memory in memories]), return_counts=True)
    shares = counts / len(memories)
    lifts = shares * len(graph) / index.counts(numbers.tolist())
    worth = np.where(lifts > 1, shares * np.log(lifts), 0)
    least = np.partition(worth, -MOST)[-MOST] if len(worth) > MOST else 0.0
    of_worth = np.flatnonzero((worth > 0) & (worth >= least))
    first = sorted((-float(worth[place]), index.name(int(numbers[place])), int(place)) for place in of_worth)[:MOST]
    return tuple(Topic(name, float(shares[place]), float(lifts[place])) for _, name, place in first)


@dataclass(frozen=True)
class Topic:
    """A concept that is more frequent in a cluster than elsewhere."""

    name: str
    share: float  # of the cluster's memories, those that have it
    lift: float  # the share, divided by that in the whole pool


@dataclass(frozen=True)
class Cluster:
    """Memories that are alike. Its number stays with it as the pool changes, as long as it is the same cluster."""

    number: int
    level: int  # 0 is the top level, with the fewest clusters
    memories: tuple[UUID, ...]
    topics: tuple[Topic, ...]
    parent: int | None
    children: tuple[int, ...]

    @property
    def name(self) -> str:
        """The concept that stands for it."""
        return self.topics[0].name if self.topics else f"Cluster {self.number}"


class Clusters:
    """All clusters of a pool. Every memory is in one cluster of each level."""

    def __init__(self, clusters: Sequence[Cluster]) -> None:
        self._clusters = {cluster.number: cluster for cluster in clusters}
        deepest = max((cluster.level for cluster in clusters), default=0)
        self._of = {memory: cluster for cluster in clusters if cluster.level == deepest for memory in cluster.memories}

    def levels(self) -> list[list[Cluster]]:
        """The clusters of each level, the top level first."""
        deepest = max((cluster.level for cluster in self._clusters.values()), default=-1)
        return [
            [cluster for cluster in self._clusters.values() if cluster.level == level] for level in range(deepest + 1)
        ]

    def get(self, number: int) -> Cluster:
        """A cluster by its number. Raises KeyError where there is none."""
        return self._clusters[number]

    def of(self, memory: UUID) -> Cluster:
        """The cluster of the deepest level that a memory is in. Raises KeyError for a memory that was not clustered."""
        return self._of[memory]

    def parents(self, number: int) -> list[Cluster]:
        """The clusters that a cluster is part of, the next one first."""
        found: list[Cluster] = []
        parent = self.get(number).parent
        while parent is not None:
            found.append(self.get(parent))
            parent = found[-1].parent
        return found

    def siblings(self, number: int) -> list[Cluster]:
        """The other clusters of its parent; at the top level, all others of that level."""
        own = self.get(number)
        return [
            cluster
            for cluster in self._clusters.values()
            if cluster.level == own.level and cluster.parent == own.parent and cluster.number != number
        ]

    def children(self, number: int) -> list[Cluster]:
        return [self.get(child) for child in self.get(number).children]


Edges = Sequence[tuple[int, int, float]]
"""Two nodes and the weight of what connects them, above 0; each pair once."""

TRIALS = 12  # how many resolutions are tried to come near the number of communities that is wanted

LOW, HIGH = 0.01, 1000.0


NEAR = 0.25
"""Share of the communities wanted that there may be more or fewer of, at the resolution that was right before."""


class Level(NamedTuple):
    """The community of each node, and the resolution that Leiden found them by."""

    of: NDArray[np.int64]
    resolution: float


class Partition(NamedTuple):
    """The number of the cluster that each memory is in, of shape (levels, memories), the top level first.

    A number belongs to one cluster of one level. Of a partition to begin from, -1 is a memory that it did not have.
    """

    of: NDArray[np.int32]
    resolutions: NDArray[np.float64]  # of each level, as Leiden takes it


def partition(edges: Edges, nodes: int, wanted: int, before: Level | None = None) -> Level:
    """The community of each node, from 0, so that there are about `wanted`. A node without an edge is one of its own.

    The higher the resolution, the more communities: it is found by halving an interval. With `before` it begins from
    those communities and their resolution.
    """
    low, high = LOW, HIGH
    best, distance = Level(np.arange(nodes), high), abs(nodes - wanted) if nodes else 0
    named = [(str(first), str(second), weight) for first, second, weight in edges]
    connected = {node for first, second, _ in named for node in (first, second)}
    start = None if before is None else {node: int(before.of[int(node)]) for node in sorted(connected)}
    for trial in range(TRIALS if named else 0):
        resolution = before.resolution if before and not trial else (low * high) ** 0.5
        _, communities = graspologic_native.leiden(
            named, starting_communities=start, resolution=resolution, iterations=10 if start is None else 1, seed=0
        )  # with more than one it wanders to another partition that is as good
        found = _numbered([communities.get(str(node), -1 - node) for node in range(nodes)])
        count = int(found.max()) + 1
        if abs(count - wanted) < distance:
            best, distance = Level(found, resolution), abs(count - wanted)
        if count == wanted or (before and not trial and abs(count - wanted) <= NEAR * wanted):
            return Level(found, resolution)
        low, high = (resolution, high) if count < wanted else (low, resolution)
    return best


def _numbered(communities: Sequence[int]) -> NDArray[np.int64]:
    """Communities by the order in which they come first."""
    numbers: dict[int, int] = {}
    return np.array([numbers.setdefault(community, len(numbers)) for community in communities], np.int64)


NEIGHBOURS = 10
CONCEPTS = 0.5  # weight of the similarity of concepts, beside the cosine

ROWS = 512  # memories that are compared with all others at a time

OFTEN = 0.02
"""A concept with a weight in more than this share of the memories is multiplied as part of a full matrix. There are a
few hundred of these however large the pool is, and a sparse product would spend nearly all of its time on them."""


def neighbours(vectors: NDArray[np.float32], concepts: sparse.csr_array[np.float64]) -> Edges:
    """Each memory with its nearest, by cosine plus `CONCEPTS` times the similarity of the concepts; each pair once.

    `vectors` have shape (memories, dimensions) and length 1; rows of `concepts` are those of `ConceptGraph.matrix`.
    """
    count = len(vectors)
    often = np.bincount(concepts.indices, minlength=concepts.shape[1]) > OFTEN * count
    weighted = concepts.astype(np.float32) * np.float32(CONCEPTS**0.5)
    full = np.hstack([vectors, weighted[:, np.flatnonzero(often)].toarray()])
    few = weighted[:, np.flatnonzero(~often)]
    turned = few.T.tocsr()
    found: dict[tuple[int, int], float] = {}
    wanted = min(NEIGHBOURS, count - 1)
    for start in range(0, count, ROWS):
        alike = full[start : start + ROWS] @ full.T + few[start : start + ROWS] @ turned
        own = np.arange(len(alike))
        alike[own, start + own] = -np.inf
        for row, other in _largest(alike, wanted):
            if alike[row, other] > 0:
                found[min(start + row, other), max(start + row, other)] = float(alike[row, other])
    return [(*pair, weight) for pair, weight in sorted(found.items())]


def _largest(values: NDArray[np.float32], wanted: int) -> Iterator[tuple[int, int]]:
    """The places of the largest values of each row, as row and column; of equal values the first columns count."""
    if wanted < 1:
        return
    least = np.partition(values, -wanted, axis=1)[:, -wanted]
    rows, columns = np.nonzero(values >= least[:, None])
    order = np.lexsort((columns, -values[rows, columns], rows))
    rows, columns = rows[order], columns[order]
    places = np.arange(len(rows)) - np.searchsorted(rows, rows)  # within its row
    chosen = places < wanted
    yield from zip(rows[chosen].tolist(), columns[chosen].tolist(), strict=True)


SIZE = 10  # memories that a cluster of the deepest level has on average
CHILDREN = 6  # clusters that one of the level above has on average
FEWEST = 2  # no level with so few clusters has another above it


def memberships(
    graph: ConceptGraph,
    ids: Sequence[UUID],
    vectors: NDArray[np.float32],
    sizes: Sequence[int],
    before: Mapping[int, Partition] | None = None,
) -> dict[int, Partition]:
    """By size, the clusters of the memories.

    `vectors` of shape (memories, dimensions) are the encoder's, of length 1, and in the order of the ids, as those are;
    `sizes` say how many memories a cluster of the deepest level is to have on average. Neighbours are found by cosine
    plus half the similarity of the concepts. `before` has, by size, the clusters of these memories to begin from.
    """
    edges = neighbours(vectors, graph.matrix(ids)) if ids else []
    return {size: _levels(edges, len(ids), size, (before or {}).get(size)) for size in sizes}


def _levels(edges: Edges, memories: int, size: int, before: Partition | None) -> Partition:
    found: list[Level] = []  # the deepest first, of memories
    known = [] if before is None else list(zip(before.of[::-1], before.resolutions[::-1].tolist(), strict=True))
    nodes, wanted = memories, max(1, round(memories / size))
    within = np.arange(memories)  # the node of each memory
    while nodes:
        start = _start(within, nodes, *known[len(found)]) if len(found) < len(known) else None
        level = partition(edges, nodes, wanted, start)
        above = int(level.of.max()) + 1
        if found and above == nodes:  # what nothing connects stays apart
            break
        within = level.of[within]
        found.append(Level(within, level.resolution))
        nodes, edges = above, _between(edges, level.of)
        wanted, was_there = round(nodes / CHILDREN), len(found) < len(known)
        if wanted < (FEWEST if before is None else 2 * FEWEST) and not was_there:
            break
        wanted = max(FEWEST, wanted)
    of = np.array([level.of for level in found[::-1]], np.int64).reshape(len(found), memories)
    return Partition(_kept_numbers(of, before), np.array([level.resolution for level in found[::-1]]))


def _start(within: NDArray[np.int64], nodes: int, before: NDArray[np.int32], resolution: float) -> Level:
    """The communities to begin from: of each node, the cluster that most of its memories were in, or one of its own."""
    start = int(before.max(initial=0)) + 1 + np.arange(nodes)
    seen: set[int] = set()
    for (node, cluster), _ in Counter(zip(within.tolist(), before.tolist(), strict=True)).most_common():
        if cluster >= 0 and node not in seen:
            seen.add(node)
            start[node] = cluster
    return Level(start, resolution)


def _kept_numbers(of: NDArray[np.int64], before: Partition | None) -> NDArray[np.int32]:
    """Clusters by numbers: that of the one before with which it has most in common, else the next that is free.

    The next ones go to the top level first, and to larger clusters first.
    """
    numbered = np.empty(of.shape, np.int32)
    free = 1 if before is None else int(before.of.max(initial=0)) + 1
    for depth, level in enumerate(of):
        at = depth - len(of)  # levels are the same from the deepest on
        old = None if before is None or -at > len(before.of) else before.of[at]
        common = Counter() if old is None else Counter(zip(level.tolist(), old.tolist(), strict=True))
        numbers, taken = dict[int, int](), set[int]()
        for (cluster, number), _ in common.most_common():
            if number >= 0 and cluster not in numbers and number not in taken:
                numbers[cluster] = number
                taken.add(number)
        for cluster, _ in Counter(level.tolist()).most_common():  # of equal ones, the one of the first memory
            if cluster not in numbers:
                numbers[cluster], free = free, free + 1
        numbered[depth] = [numbers[cluster] for cluster in level.tolist()]
    return numbered


def _between(edges: Edges, clusters: NDArray[np.int64]) -> Edges:
    """The sums of the edges between clusters."""
    sums: dict[tuple[int, int], float] = {}
    for first, second, weight in edges:
        low, high = sorted((int(clusters[first]), int(clusters[second])))
        if low != high:
            sums[low, high] = sums.get((low, high), 0.0) + weight
    return [(*pair, weight) for pair, weight in sorted(sums.items())]
