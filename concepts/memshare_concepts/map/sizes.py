"""The sizes of clusters that a map can show: the one that was asked for, one below it, and some above it."""

from __future__ import annotations

from pathlib import Path

from memshare_concepts.clusters.cluster import Clusters
from memshare_concepts.clusters.cluster_cache import clusters_by_size
from memshare_concepts.pool_graph import PoolConcepts

FACTORS = (0.5, 1, 2, 4, 8)
"""Sizes of the map, as multiples of the one that was asked for."""


def clusters_around(concepts: PoolConcepts, data: Path, asked: int) -> dict[int, Clusters]:
    """The clusters of a pool by their size, the smallest first: `asked`, and the sizes around it.

    They are kept in the data folder until the pool changes (`memshare_concepts.clusters.cluster_cache`).
    Left out are sizes below two memories or above half of the pool, and those that give the same clusters as another.
    """
    around = [round(asked * factor) for factor in FACTORS]
    wanted = [size for size in around if size == asked or 2 <= size <= len(concepts.memories) / 2]
    found = clusters_by_size(concepts, data, wanted)
    taken = {_groups(found[asked])}
    for size in wanted:
        if size != asked and _groups(found[size]) in taken:
            del found[size]
        else:
            taken.add(_groups(found[size]))
    return found


def _groups(clusters: Clusters) -> frozenset[tuple[object, ...]]:
    return frozenset(one.memories for level in clusters.levels()[-1:] for one in level)
