"""Finds the clusters of a pool: Leiden on the graph of each memory's nearest neighbours, level by level."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memshare.concepts.clusters.cluster import Cluster, Clusters
from memshare.concepts.clusters.leiden import Edges, partition
from memshare.concepts.clusters.neighbours import neighbours
from memshare.concepts.clusters.topics import topics
from memshare.concepts.graph.concept_graph import ConceptGraph

SIZE = 10
"""Memories that a cluster of the deepest level has on average."""

CHILDREN = 6
"""Clusters that one of the level above has on average."""

FEWEST = 2
"""No level with so few clusters has another above it."""


def find_clusters(
    graph: ConceptGraph, memories: Sequence[UUID], vectors: NDArray[np.float32], *, size: int = SIZE, seed: int = 0
) -> Clusters:
    """The clusters of memories, in two levels or more where there are enough of them.

    `vectors` of shape (memories, dimensions) are the encoder's, of length 1; `size` is how many memories a cluster of
    the deepest level is to have on average. Neighbours are found by cosine plus half the similarity of the concepts.
    The same memories give the same clusters, in whatever order they come.
    """
    return find_clusters_by_size(graph, memories, vectors, [size], seed=seed)[size]


def find_clusters_by_size(
    graph: ConceptGraph,
    memories: Sequence[UUID],
    vectors: NDArray[np.float32],
    sizes: Sequence[int],
    *,
    seed: int = 0,
) -> dict[int, Clusters]:
    """The clusters that `find_clusters` finds for each size; neighbours are found once for all of them."""
    order = sorted(range(len(memories)), key=memories.__getitem__)
    ids = [memories[place] for place in order]
    if not ids:
        return dict.fromkeys(sizes, Clusters(()))
    edges = neighbours(vectors[order], graph.matrix(ids))
    return {size: Clusters(_described(graph, ids, _partitions(edges, len(ids), size, seed))) for size in sizes}


def _partitions(edges: Edges, nodes: int, size: int, seed: int) -> list[NDArray[np.int64]]:
    """The cluster of each memory, then the cluster of each of these clusters, and so on up."""
    partitions: list[NDArray[np.int64]] = []
    wanted = max(1, round(nodes / size))
    while True:
        found = partition(edges, nodes, wanted, seed)
        above = int(found.max()) + 1
        if partitions and above == nodes:  # what nothing connects stays apart
            return partitions
        partitions.append(found)
        nodes, edges = above, _between(edges, found)
        wanted = round(nodes / CHILDREN)
        if wanted < FEWEST:
            return partitions


def _between(edges: Edges, clusters: NDArray[np.int64]) -> Edges:
    """The sums of the edges between clusters."""
    sums: dict[tuple[int, int], float] = {}
    for first, second, weight in edges:
        low, high = sorted((int(clusters[first]), int(clusters[second])))
        if low != high:
            sums[low, high] = sums.get((low, high), 0.0) + weight
    return [(*pair, weight) for pair, weight in sorted(sums.items())]


def _described(graph: ConceptGraph, ids: Sequence[UUID], partitions: Sequence[NDArray[np.int64]]) -> list[Cluster]:
    of = [partitions[0]]  # the cluster of each memory, by level, the deepest first
    for above in partitions[1:]:
        of.append(above[of[-1]])
    of.reverse()
    numbers: list[dict[int, int]] = []
    members: dict[int, tuple[UUID, ...]] = {}
    for level in of:
        groups: dict[int, list[UUID]] = {}
        for place, cluster in enumerate(level.tolist()):
            groups.setdefault(cluster, []).append(ids[place])
        falling = sorted(groups, key=lambda one: (-len(groups[one]), groups[one][0]))
        numbers.append({cluster: len(members) + place for place, cluster in enumerate(falling, start=1)})
        members.update({numbers[-1][cluster]: tuple(groups[cluster]) for cluster in falling})
    parents = {
        numbers[deeper][int(below)]: numbers[deeper - 1][int(above)]
        for deeper in range(1, len(of))
        for below, above in set(zip(of[deeper].tolist(), of[deeper - 1].tolist(), strict=True))
    }
    children: dict[int, list[int]] = {}
    for child, parent in sorted(parents.items()):
        children.setdefault(parent, []).append(child)
    return [
        Cluster(
            number,
            level,
            members[number],
            topics(graph, members[number]),
            parents.get(number),
            tuple(children.get(number, ())),
        )
        for level, of_level in enumerate(numbers)
        for number in of_level.values()
    ]
