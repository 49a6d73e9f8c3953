"""Vectors in which each concept agrees with what its links are linked to: slower, and a view on the whole graph.

After Tom Hartke, knowledge-graph-from-GPT (2023), without what made the original hang on rounding. With r_ij the weight
of a link and r_ii = 1, over the concepts j that i is linked to, and i itself:

    e_i[j] ~ sqrt(r_ij o_j) / (1 + S_j), summing to 1
    o_j = sum over k of sqrt(e_i[k] r_jk)            how much of what i has, j has too
    S_j = sum over i of r_ij, i != j                 how much everything else points at j

Each round takes the fourth root of what was there before, so that any two beginnings come four times nearer to each
other: there is one solution, and `ROUNDS` are enough for it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from memshare_concepts.concept_graph import ConceptGraph

ROUNDS, AGREED = 60, 1e-14


class ConsistentVectors:
    """The consistent vectors of a graph as it is now."""

    def __init__(self, graph: ConceptGraph) -> None:
        self._names = graph.concepts()
        self._key = graph.index.key
        self._places = {self._key(name): place for place, name in enumerate(self._names)}
        links = link_matrix(graph)
        self._pointed_at: NDArray[np.float64] = np.asarray(links.sum(axis=0)).ravel()
        self._links = (links + sparse.eye_array(len(self._names))).tocsr()
        self._links.sort_indices()

    def vector(self, name: str, start: NDArray[np.float64] | None = None) -> dict[str, float]:
        """The vector of a concept of the graph, KeyError for another; it may start from other weights."""
        row = self._links[[self._places[self._key(name)]]]
        beside, weights = row.indices, row.data
        roots = np.sqrt(self._links[beside][:, beside].toarray())
        vector = np.ones(len(beside)) if start is None else start[: len(beside)]
        vector = vector / vector.sum()
        for _ in range(ROUNDS):
            following = np.sqrt(weights * (roots @ np.sqrt(vector))) / (1 + self._pointed_at[beside])
            following /= following.sum()
            change, vector = float(np.abs(following - vector).max()), following
            if change < AGREED:
                break
        return {self._names[place]: weight for place, weight in zip(beside.tolist(), vector.tolist(), strict=True)}


def link_matrix(graph: ConceptGraph) -> sparse.csr_array[np.float64]:
    """The weights r_ij of all links, of shape (concepts, concepts), in the order of `ConceptGraph.concepts`."""
    names = graph.concepts()
    places = {name: place for place, name in enumerate(names)}
    rows = [sorted((places[link.name], link.weight) for link in graph.links(name)) for name in names]
    columns = np.array([place for row in rows for place, _ in row], np.int32)
    weights = np.array([weight for row in rows for _, weight in row], np.float64)
    ends = np.cumsum([0, *(len(row) for row in rows)])
    return sparse.csr_array((weights, columns, ends), shape=(len(names), len(names)))
