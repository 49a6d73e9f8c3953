"""What concepts have in common: the names that belong to all of them, and the memories nearest to these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

import numpy as np

from memshare_concepts.graph.weights import intersection
from memshare_concepts.pool_graph import PoolConcepts


class Common(NamedTuple):
    """What some concepts have in common; empty where they share no name.

    `vector` has the names with weights that sum to 1, the largest first; `memories` those that share any of these
    names, with their similarity to the vector, from 0 to 1, the most similar first.
    """

    vector: dict[str, float]
    memories: list[tuple[UUID, float]]


def in_common(concepts: PoolConcepts, names: Sequence[str]) -> Common:
    """The intersection of the vectors of concepts (`memshare_concepts.graph.weights.intersection`)."""
    graph = concepts.graph
    vectors = [graph.vector(name) for name in names]
    if not set(vectors[0]).intersection(*vectors[1:]):
        return Common({}, [])  # the mean of the vectors would say what they are, and not what they share
    vector = intersection(vectors)
    roots = np.sqrt([vector.get(name, 0.0) for name in graph.concepts()])
    similarities = graph.matrix(concepts.ids) @ roots
    best = np.argsort(-similarities, kind="stable")
    return Common(vector, [(concepts.ids[at], float(similarities[at])) for at in best if similarities[at] > 0])
