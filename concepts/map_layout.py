"""Places the clusters and memories of a pool on a plane, for a map: what is linked lies near."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import cos, pi, sin, sqrt
from uuid import UUID

import networkx

from memshare.concepts.clusters.cluster import Cluster, Clusters
from memshare.concepts.graph.weights import similarity

GOLDEN_ANGLE = pi * (3 - sqrt(5))
LINKS = 4
"""To so many others a cluster is drawn near."""


@dataclass(frozen=True)
class Spot:
    """A place on the plane, with the radius of what is there."""

    x: float
    y: float
    radius: float = 0.0


@dataclass(frozen=True)
class MapLayout:
    """Where everything is. Clusters are discs, and memories lie within that of their cluster."""

    clusters: dict[int, Spot]
    memories: dict[UUID, Spot]


def lay_out(clusters: Clusters, *, seed: int = 0) -> MapLayout:
    """Place the clusters of the deepest level by their common topics, and their memories within them.

    The area of a cluster's disc is as large as its number of memories. The same clusters give the same map.
    """
    levels = clusters.levels()
    deepest = levels[-1] if levels else []
    drawn: networkx.Graph[int] = networkx.Graph()
    drawn.add_nodes_from(one.number for one in deepest)
    for first, others in _alike(deepest).items():
        for weight, second in sorted(others, reverse=True)[:LINKS]:
            drawn.add_edge(first, second, weight=weight)
    spread = sqrt(sum(len(one.memories) for one in deepest)) * 2
    places = networkx.spring_layout(drawn, seed=seed, scale=spread) if deepest else {}
    spots = {
        one.number: Spot(float(places[one.number][0]), float(places[one.number][1]), sqrt(len(one.memories)))
        for one in deepest
    }
    memories = {
        memory: _within(spots[one.number], place, len(one.memories))
        for one in deepest
        for place, memory in enumerate(one.memories)
    }
    return MapLayout(spots, memories)


def _alike(clusters: list[Cluster]) -> dict[int, list[tuple[float, int]]]:
    """How alike the topics of each two clusters are, where they are; those of one parent are always near."""
    vectors = {one.number: {topic.name: topic.share for topic in one.topics} for one in clusters}
    found: dict[int, list[tuple[float, int]]] = {one.number: [] for one in clusters}
    for first, second in combinations(clusters, 2):
        weight = similarity(vectors[first.number], vectors[second.number])
        weight += 1.0 if first.parent is not None and first.parent == second.parent else 0.0
        if weight > 0:
            found[first.number].append((weight, second.number))
            found[second.number].append((weight, first.number))
    return found


def _within(disc: Spot, place: int, of: int) -> Spot:
    """The place of one of several memories in a disc, as the seeds of a sunflower lie."""
    away = disc.radius * sqrt((place + 0.5) / of)
    return Spot(disc.x + away * cos(place * GOLDEN_ANGLE), disc.y + away * sin(place * GOLDEN_ANGLE))
