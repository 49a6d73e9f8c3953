"""Places the clusters and memories of a pool on a plane, for a map: what is linked lies near."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi, sin, sqrt
from uuid import UUID

import networkx
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from memshare.concepts.clusters.cluster import Cluster, Clusters

GOLDEN_ANGLE = pi * (3 - sqrt(5))
LINKS = 4
"""To so many others a cluster is drawn near."""

GAP = 0.12
"""What lies between two discs at least, as a share of their radii."""

ROUNDS = 200
"""At most so often discs are moved apart."""

INSIDE = 0.9
"""Of a disc's radius, how far its memories lie from its centre at most."""


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
    places = _apart(_drawn(deepest, seed), np.array([sqrt(len(one.memories)) for one in deepest]))
    spots = {
        one.number: Spot(float(x), float(y), sqrt(len(one.memories)))
        for one, (x, y) in zip(deepest, places, strict=True)
    }
    memories = {
        memory: _within(spots[one.number], place, len(one.memories))
        for one in deepest
        for place, memory in enumerate(one.memories)
    }
    return MapLayout(spots, memories)


def _drawn(clusters: list[Cluster], seed: int) -> NDArray[np.float64]:
    """Places of shape (clusters, 2) where what is alike is near."""
    if not clusters:
        return np.empty((0, 2))
    drawn: networkx.Graph[int] = networkx.Graph()
    drawn.add_nodes_from(range(len(clusters)))
    alike = _alike(clusters)
    for first in range(len(clusters)):
        nearest = np.argsort(-alike[first], kind="stable")[:LINKS]
        drawn.add_weighted_edges_from(
            (first, int(second), float(alike[first, second])) for second in nearest if alike[first, second] > 0
        )
    spread = sqrt(sum(len(one.memories) for one in clusters)) * 2
    found = networkx.spring_layout(drawn, seed=seed, scale=spread)
    return np.array([found[number] for number in range(len(clusters))], np.float64)


def _alike(clusters: list[Cluster]) -> NDArray[np.float64]:
    """How alike the topics of each two clusters are, and 1 more for those of one parent; 0 for one and itself."""
    names = dict.fromkeys(topic.name for one in clusters for topic in one.topics)
    columns = {name: place for place, name in enumerate(names)}
    roots = sparse.lil_array((len(clusters), max(1, len(columns))))
    for row, one in enumerate(clusters):
        for topic in one.topics:
            roots[row, columns[topic.name]] = sqrt(topic.share)
    rows = roots.tocsr()
    alike: NDArray[np.float64] = (rows @ rows.T).toarray()
    parents = np.array([-1 - row if one.parent is None else one.parent for row, one in enumerate(clusters)])
    alike += parents[:, None] == parents[None, :]
    np.fill_diagonal(alike, 0.0)
    return alike


def _apart(places: NDArray[np.float64], radii: NDArray[np.float64]) -> NDArray[np.float64]:
    """The places moved until no two discs lie on each other, or almost."""
    least = (radii[:, None] + radii[None, :]) * (1 + GAP)
    for _ in range(ROUNDS):
        between = places[:, None] - places[None, :]
        far = np.sqrt((between**2).sum(axis=2))
        np.fill_diagonal(far, np.inf)
        missing = np.maximum(least - far, 0.0)
        if not missing.any():
            break
        # Each of two discs makes half of the way.
        step = missing / np.maximum(far, 1e-9) / 2
        places = places + (between * step[:, :, None]).sum(axis=1)
    return places


def _within(disc: Spot, place: int, of: int) -> Spot:
    """The place of one of several memories in a disc, as the seeds of a sunflower lie."""
    away = INSIDE * disc.radius * sqrt((place + 0.5) / of)
    return Spot(disc.x + away * cos(place * GOLDEN_ANGLE), disc.y + away * sin(place * GOLDEN_ANGLE))
