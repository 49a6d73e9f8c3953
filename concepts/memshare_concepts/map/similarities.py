"""How alike the memories of a pool are, each with each other, packed for a page: a byte for each pair."""

from __future__ import annotations

import random
from base64 import b64encode
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from memshare_concepts.clusters.neighbours import CONCEPTS
from memshare_concepts.pool_graph import PoolConcepts

MOST = 2000
"""Memories that a page compares; of a larger pool so many are chosen by chance, always the same ones."""


@dataclass(frozen=True)
class Similarities:
    """Similarities of memories to each other: 1 is the same, and a byte b means low + b / 255 * (1 - low)."""

    low: float
    rows: dict[UUID, str]
    """In base64, the bytes of a memory with those before it: none for the first, one for the second, and so on."""


def similarities(concepts: PoolConcepts) -> Similarities:
    """Compare memories by what clusters go by: cosine plus half the similarity of the concepts, divided by 1.5."""
    places = list(range(len(concepts.memories)))
    if len(places) > MOST:
        places = sorted(random.Random(0).sample(places, MOST))
    ids = concepts.ids
    chosen = [ids[place] for place in places]
    vectors, matrix = concepts.vectors[places], concepts.graph.matrix(chosen)
    alike = ((vectors @ vectors.T) + CONCEPTS * (matrix @ matrix.T).toarray()) / (1 + CONCEPTS)
    low = min(0.0, float(alike.min(initial=0.0)))
    packed = np.rint((np.minimum(alike, 1.0) - low) / (1 - low) * 255).astype(np.uint8)
    rows = {memory: b64encode(packed[place, :place].tobytes()).decode() for place, memory in enumerate(chosen)}
    return Similarities(low, rows)
