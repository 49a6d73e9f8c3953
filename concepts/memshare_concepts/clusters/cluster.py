"""A cluster of memories, what it is about, and how clusters hang together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memshare_concepts.graph.concept_graph import ConceptGraph

MOST = 10


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
    return Clusters(
        [
            Cluster(
                number,
                level,
                tuple(its),
                topics(graph, its),
                parents.get(number),
                tuple(sorted(children.get(number, ()))),
            )
            for level, of_level in enumerate(members)
            for number, its in sorted(of_level.items(), key=lambda found: (-len(found[1]), found[1][0]))
        ]
    )


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
    share: float
    """Of the cluster's memories, those that have it."""
    lift: float
    """The share, divided by that in the whole pool."""


@dataclass(frozen=True)
class Cluster:
    """Memories that are alike. Its number stays with it as the pool changes, as long as it is the same cluster."""

    number: int
    level: int
    """0 is the top level, with the fewest clusters."""
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
        """The clusters that a cluster is made of."""
        return [self.get(child) for child in self.get(number).children]
