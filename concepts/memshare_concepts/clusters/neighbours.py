"""The graph of memories and their nearest neighbours, by what they say and by their concepts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from memshare_concepts.clusters.leiden import Edges

NEIGHBOURS = 10
CONCEPTS = 0.5
"""What similarity of concepts counts beside the cosine."""

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
