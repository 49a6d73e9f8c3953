"""The graph of memories and their nearest neighbours, by what they say and by their concepts."""

from __future__ import annotations

from collections.abc import Iterator

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
    wanted = min(NEIGHBOURS, count - 1)
    for start in range(0, count, ROWS):
        alike = (vectors[start : start + ROWS] @ vectors.T).astype(np.float64)
        alike += CONCEPTS * (concepts[start : start + ROWS] @ turned).toarray()
        own = np.arange(len(alike))
        alike[own, start + own] = -np.inf
        for row, other in _largest(alike, wanted):
            if alike[row, other] > 0:
                found[min(start + row, other), max(start + row, other)] = float(alike[row, other])
    return [(*pair, weight) for pair, weight in sorted(found.items())]


def _largest(values: NDArray[np.float64], wanted: int) -> Iterator[tuple[int, int]]:
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
