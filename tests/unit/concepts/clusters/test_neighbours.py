"""The nearest neighbours of memories are found by cosine plus half the similarity of their concepts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from memshare_concepts.clusters import CONCEPTS, NEIGHBOURS, neighbours


@pytest.mark.parametrize("count", [1, 2, 5, 40, 700])
def test_each_memory_is_connected_with_its_nearest(count: int) -> None:
    random = np.random.default_rng(count)
    vectors = random.normal(size=(count, 3)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    frequent = sparse.random_array((count, 30), density=0.1, rng=random)
    rare = sparse.random_array((count, 400), density=0.005, rng=random)
    concepts = sparse.hstack([frequent, rare]).tocsr()

    found = {(first, second): weight for first, second, weight in neighbours(vectors, concepts)}

    alike = (vectors @ vectors.T).astype(np.float64) + CONCEPTS * (concepts @ concepts.T).toarray()
    np.fill_diagonal(alike, -np.inf)
    expected = {
        (min(row, other), max(row, other))
        for row in range(count)
        for other in np.argsort(-alike[row], kind="stable")[:NEIGHBOURS].tolist()
        if alike[row, other] > 0
    }
    assert found.keys() == expected
    assert all(weight == pytest.approx(alike[pair], abs=1e-6) for pair, weight in found.items())


def test_of_equally_near_memories_the_first_ones_count() -> None:
    count = NEIGHBOURS + 5
    vectors = np.ones((count, 1), np.float32)

    found = {pair[:2] for pair in neighbours(vectors, sparse.csr_array((count, 1), dtype=np.float64))}

    assert found == {(first, second) for first in range(NEIGHBOURS + 1) for second in range(first + 1, count)} - {
        (NEIGHBOURS, second) for second in range(NEIGHBOURS + 1, count)
    }
