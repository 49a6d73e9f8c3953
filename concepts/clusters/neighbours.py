"""The graph of memories and their nearest neighbours, by what they say and by their concepts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from memshare.concepts.clusters.leiden import Edges

NEIGHBOURS = 10
CONCEPTS = 0.5
"""What similarity of concepts counts beside the cosine."""

ROWS = 512  # memories that are compared with all others at a time


def neighbours(vectors: NDArray[np.float32], concepts: sparse.csr_array[np.float64]) -> Edges:
    """Each memory with its nearest, by cosine plus `CONCEPTS` times the similarity of the concepts; each pair once.

    `vectors` have shape (memories, dimensions) and length 1; rows of `concepts` are those of `ConceptGraph.matrix`.
    """
    turned = concepts.T.tocsr()
    found: dict[tuple[int, int], float] = {}
    count = len(vectors)
    for start in range(0, count, ROWS):
        alike = (vectors[start : start + ROWS] @ vectors.T).astype(np.float64)
        alike += CONCEPTS * (concepts[start : start + ROWS] @ turned).toarray()
        own = np.arange(len(alike))
        alike[own, start + own] = -np.inf
        for row, nearest in enumerate(np.argsort(-alike, axis=1, kind="stable")[:, : min(NEIGHBOURS, count - 1)]):
            for other in nearest.tolist():
                if alike[row, other] > 0:
                    found[min(start + row, other), max(start + row, other)] = float(alike[row, other])
    return [(*pair, weight) for pair, weight in sorted(found.items())]
