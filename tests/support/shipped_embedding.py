"""The embedding of the original knowledge graph, as it is shipped: compared with its published figures, and not used.

Whether a concept has a place in another's vector hangs there on whether the fifth power of a weight underflows.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from memshare_concepts.concept_graph import ConceptGraph, normalised
from tests.support.consistent_vectors import link_matrix

TRIM = 1e-10
POWER = 6

Vector = dict[str, float]


def shipped_embedding(graph: ConceptGraph) -> dict[str, Vector]:
    """The converged vectors of all concepts: e[j] = o_j / (1 + S_j)^6 where the first round leaves anything."""
    names = graph.concepts()
    links = link_matrix(graph)
    sums = np.asarray(links.sum(axis=1)).ravel()
    roots = _roots(links)
    found = {}
    for row, name in enumerate(names):
        beside = links[[row]].indices
        weights = links[[row]].data
        shared = roots[beside][:, beside].toarray()
        vector = _first_round(weights, shared, sums[beside])
        alive, change = vector > 0, 1.0
        while change > 1e-12:
            overlap = np.minimum(1, shared @ np.sqrt(vector) / vector.sum())
            following = np.where(alive, overlap / (1 + sums[beside]) ** POWER, 0)
            change, vector = float(np.abs(following - vector).max() / following.max()), following
        found[name] = {names[place]: value for place, value in zip(beside.tolist(), vector.tolist(), strict=True)}
    return found


def shipped_union(vectors: dict[str, Vector], concepts: Iterable[str]) -> Vector:
    """The vector of a card, or of a question: the sum of its concepts' vectors, damped twice, and of sum 1."""
    sums = {name: sum(vector.values()) for name, vector in vectors.items()}
    union: Vector = {}
    for concept in concepts:
        for name, weight in vectors[concept].items():
            union[name] = union.get(name, 0.0) + weight / (1 + sums[concept])
    return normalised({name: weight / (1 + sums[name]) for name, weight in union.items()})


def _first_round(
    weights: NDArray[np.float64], shared: NDArray[np.float64], sums: NDArray[np.float64]
) -> NDArray[np.float64]:
    vector = weights.copy()
    with np.errstate(under="ignore"):
        for place in np.argsort(weights, kind="stable"):
            overlap = min(1.0, float(shared[place] @ np.sqrt(vector) / vector.sum()))
            vector[place] = (overlap * weights[place] ** (POWER - 1)) ** (1 / POWER) / (1 + sums[place])
    return vector


def _roots(links: sparse.csr_array[np.float64]) -> sparse.csr_array[np.float64]:
    """The square roots of the weights, in each row without the smallest ones that make up 1e-10 of it."""
    kept = links.copy()
    for start, end in zip(links.indptr[:-1], links.indptr[1:], strict=True):
        row = kept.data[start:end]
        rising = np.sort(row)
        dropped = int((np.cumsum(rising) < TRIM * row.sum()).sum())
        if dropped:
            row[row <= rising[dropped - 1]] = 0
    kept.data = np.sqrt(kept.data)
    return kept
