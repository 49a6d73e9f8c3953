"""A cluster of memories, what it is about, and how clusters hang together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID


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
    """Memories that are alike. Its number is its place among all clusters: the top level first, larger ones first."""

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
        self._of = {memory: one for one in clusters if one.level == deepest for memory in one.memories}

    def levels(self) -> list[list[Cluster]]:
        """The clusters of each level, the top level first."""
        deepest = max((cluster.level for cluster in self._clusters.values()), default=-1)
        return [[one for one in self._clusters.values() if one.level == level] for level in range(deepest + 1)]

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
            one
            for one in self._clusters.values()
            if one.level == own.level and one.parent == own.parent and one.number != number
        ]

    def children(self, number: int) -> list[Cluster]:
        """The clusters that a cluster is made of."""
        return [self.get(child) for child in self.get(number).children]
