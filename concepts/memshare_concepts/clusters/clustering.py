"""Finds the clusters of a pool: Leiden on the graph of each memory's nearest neighbours, level by level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from uuid import UUID

import graspologic_native
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from memshare_concepts.graph.concept_graph import ConceptGraph

Edges = Sequence[tuple[int, int, float]]
"""Two nodes and the weight of what connects them, above 0; each pair once."""

TRIALS = 12
"""How many resolutions are tried to come near the number of communities that is wanted."""

LOW, HIGH = 0.01, 1000.0


def partition(edges: Edges, nodes: int, wanted: int) -> NDArray[np.int64]:
    """The community of each node, from 0, so that there are about `wanted`. A node without an edge is one of its own.

    The higher the resolution, the more communities: it is found by halving an interval.
    """
    low, high = LOW, HIGH
    best = np.arange(nodes)
    distance = abs(nodes - wanted) if nodes else 0
    named = [(str(first), str(second), weight) for first, second, weight in edges]
    for _ in range(TRIALS if named else 0):
        resolution = (low * high) ** 0.5
        _, communities = graspologic_native.leiden(named, resolution=resolution, iterations=10, seed=0)
        found = _numbered([communities.get(str(node), -1 - node) for node in range(nodes)])
        count = int(found.max()) + 1
        if abs(count - wanted) < distance:
            best, distance = found, abs(count - wanted)
        if count == wanted:
            break
        low, high = (resolution, high) if count < wanted else (low, resolution)
    return best


def _numbered(communities: Sequence[int]) -> NDArray[np.int64]:
    """Communities by the order in which they come first."""
    numbers: dict[int, int] = {}
    return np.array([numbers.setdefault(one, len(numbers)) for one in communities], np.int64)


NEIGHBOURS = 10
CONCEPTS = 0.5
"""Weight of the similarity of concepts, beside the cosine."""

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
