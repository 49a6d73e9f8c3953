"""Places the clusters and memories of a pool on a plane, for a map: what is alike lies near."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import cos, pi, sin, sqrt
from uuid import UUID

import networkx
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial import KDTree

from memshare_concepts.clusters.cluster import Cluster, Clusters

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
    """A place on the plane. On average a memory has an area of pi to itself."""

    x: float
    y: float


def lay_out(by_size: Mapping[int, Clusters], size: int) -> dict[UUID, Spot]:
    """The place of each memory, the same for clusters of every size, so that a map can show one size after another.

    The clusters of `size` are discs. Within a disc, memories of one cluster of another size lie side by side, and discs
    whose memories are in the same larger cluster lie near. The same clusters give the same map.
    """
    levels = by_size[size].levels()
    if not levels:
        return {}
    discs = levels[-1]
    radii = np.array([sqrt(len(one.memories)) for one in discs])
    places = _apart(_drawn(discs, _alike(discs, [by_size[one] for one in by_size if one > size])), radii)
    falling = [by_size[one] for one in sorted(by_size, reverse=True)]
    spots: dict[UUID, Spot] = {}
    for disc, centre, radius in zip(discs, places.tolist(), radii.tolist(), strict=True):
        order = sorted(disc.memories, key=lambda memory: [clusters.of(memory).number for clusters in falling])
        spots |= zip(order, _within(centre, radius, len(order)), strict=True)
    return spots


def _drawn(discs: Sequence[Cluster], alike: NDArray[np.float64]) -> NDArray[np.float64]:
    """Places of shape (discs, 2) where what is alike is near."""
    drawn: networkx.Graph[int] = networkx.Graph()
    drawn.add_nodes_from(range(len(discs)))
    for first in range(len(discs)):
        nearest = np.argsort(-alike[first], kind="stable")[:LINKS]
        drawn.add_weighted_edges_from(
            (first, int(second), float(alike[first, second])) for second in nearest if alike[first, second] > 0
        )
    spread = sqrt(sum(len(one.memories) for one in discs)) * 2
    found = networkx.spring_layout(drawn, seed=0, scale=spread)
    return np.array([found[number] for number in range(len(discs))], np.float64)


def _alike(discs: Sequence[Cluster], larger: Sequence[Clusters]) -> NDArray[np.float64]:
    """How alike the topics of each two discs are, 1 more for one parent, and the share of a larger cluster of both."""
    alike = _products([[(topic.name, sqrt(topic.share)) for topic in one.topics] for one in discs])
    for clusters in larger:
        part = [[(clusters.of(memory).number, 1 / len(one.memories)) for memory in one.memories] for one in discs]
        alike += _products(part)
    parents = np.array([-1 - row if one.parent is None else one.parent for row, one in enumerate(discs)])
    alike += parents[:, None] == parents[None, :]
    np.fill_diagonal(alike, 0.0)
    return alike


def _products(rows: Sequence[Sequence[tuple[str | int, float]]]) -> NDArray[np.float64]:
    """The products of each two rows of named values; values of one name in one row are summed."""
    columns: dict[str | int, int] = {}
    numbers = [columns.setdefault(name, len(columns)) for row in rows for name, _ in row]
    where = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    values = np.array([value for row in rows for _, value in row])
    matrix = sparse.coo_array((values, (where, numbers)), shape=(len(rows), max(1, len(columns)))).tocsr()
    found: NDArray[np.float64] = (matrix @ matrix.T).toarray()
    return found


def _apart(places: NDArray[np.float64], radii: NDArray[np.float64]) -> NDArray[np.float64]:
    """The places moved until no two discs lie on each other, or almost."""
    if len(places) < 2:
        return places
    reach = 2 * radii.max() * (1 + GAP)
    for _ in range(ROUNDS):
        first, second = KDTree(places).query_pairs(reach, output_type="ndarray").T
        between = places[first] - places[second]
        far = np.sqrt((between**2).sum(axis=1))
        missing = (radii[first] + radii[second]) * (1 + GAP) - far
        close = missing > 0
        if not close.any():
            break
        # Each of two discs makes half of the way.
        step = between[close] * (missing[close] / np.maximum(far[close], 1e-9) / 2)[:, None]
        places = places.copy()
        np.add.at(places, first[close], step)
        np.subtract.at(places, second[close], step)
    return places


def _within(centre: Sequence[float], radius: float, count: int) -> list[Spot]:
    """The places in a disc, as the seeds of a sunflower lie, in the order of a hand that goes round."""
    seeds = [(place * GOLDEN_ANGLE % (2 * pi), INSIDE * radius * sqrt((place + 0.5) / count)) for place in range(count)]
    return [Spot(centre[0] + away * cos(angle), centre[1] + away * sin(angle)) for angle, away in sorted(seeds)]
