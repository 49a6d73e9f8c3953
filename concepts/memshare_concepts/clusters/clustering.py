"""Finds the clusters of a pool: Leiden on the graph of each memory's nearest neighbours, level by level."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memshare_concepts.clusters.leiden import Edges, partition
from memshare_concepts.clusters.neighbours import neighbours
from memshare_concepts.graph.concept_graph import ConceptGraph

SIZE = 10
"""Memories that a cluster of the deepest level has on average."""

CHILDREN = 6
"""Clusters that one of the level above has on average."""

FEWEST = 2
"""No level with so few clusters has another above it."""


def memberships(
    graph: ConceptGraph, ids: Sequence[UUID], vectors: NDArray[np.float32], sizes: Sequence[int]
) -> dict[int, NDArray[np.int32]]:
    """By size, the cluster of each memory in each level, the top level first: shape (levels, memories).

    `vectors` of shape (memories, dimensions) are the encoder's, of length 1, and in the order of the ids, as those are;
    `sizes` say how many memories a cluster of the deepest level is to have on average. Neighbours are found by cosine
    plus half the similarity of the concepts. Numbers of clusters mean nothing from one level to another.
    """
    edges = neighbours(vectors, graph.matrix(ids)) if ids else []
    return {size: _levels(edges, len(ids), size) for size in sizes}


def _levels(edges: Edges, memories: int, size: int) -> NDArray[np.int32]:
    of: list[NDArray[np.int64]] = []  # the deepest first
    nodes, wanted = memories, max(1, round(memories / size))
    while nodes:
        found = partition(edges, nodes, wanted)
        above = int(found.max()) + 1
        if of and above == nodes:  # what nothing connects stays apart
            break
        of.append(found[of[-1]] if of else found)
        nodes, edges = above, _between(edges, found)
        wanted = round(nodes / CHILDREN)
        if wanted < FEWEST:
            break
    return np.array(of[::-1], np.int32).reshape(len(of), memories)


def _between(edges: Edges, clusters: NDArray[np.int64]) -> Edges:
    """The sums of the edges between clusters."""
    sums: dict[tuple[int, int], float] = {}
    for first, second, weight in edges:
        low, high = sorted((int(clusters[first]), int(clusters[second])))
        if low != high:
            sums[low, high] = sums.get((low, high), 0.0) + weight
    return [(*pair, weight) for pair, weight in sorted(sums.items())]
