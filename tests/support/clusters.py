"""The clusters of memories, as a program has them that keeps no files."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memshare_concepts.clusters import SIZE, Clusters, described, memberships
from memshare_concepts.concept_graph import ConceptGraph


def find_clusters(
    graph: ConceptGraph, ids: Sequence[UUID], vectors: NDArray[np.float32], *, size: int = SIZE
) -> Clusters:
    """Of memories in the order of their ids, with a row of the vectors for each."""
    return described(graph, ids, memberships(graph, ids, vectors, [size])[size].of)
