"""All gaps of a pool in one list."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from uuid import UUID

import numpy as np
import redis
from numpy.typing import NDArray

from memshare_concepts.clusters.cluster import Clusters
from memshare_concepts.decisions import Decisions
from memshare_concepts.gap import Gap
from memshare_concepts.gaps.between_clusters import thin, unconnected
from memshare_concepts.gaps.open_questions import OpenQuestions
from memshare_concepts.gaps.unexplained import Encode, unexplained
from memshare_concepts.graph.concept_graph import ConceptGraph
from memshare_concepts.pool_graph import PoolConcepts, encode
from memshare_memory.door.client import MemoryClient


def find_gaps(
    graph: ConceptGraph,
    clusters: Clusters,
    memories: Sequence[UUID],
    vectors: NDArray[np.float32],
    encode: Encode,
    *,
    dismissed: Collection[str] = (),
) -> list[Gap]:
    """The gaps of a pool, without those whose ids were dismissed.

    Hidden and stale memories belong in neither `graph` nor `memories`.

    Scores of different kinds do not compare, so the first of each kind come first, then the second of each, and so on.
    """
    kinds = (
        unexplained(graph, memories, vectors, encode),
        unconnected(graph, clusters, memories, vectors),
        thin(clusters),
    )
    left = [[gap for gap in gaps if gap.id not in dismissed] for gaps in kinds]
    by_place = ((place, kind, gap) for kind, gaps in enumerate(left) for place, gap in enumerate(gaps))
    return [gap for _, _, gap in sorted(by_place, key=lambda one: one[:2])]


def gaps_now(
    concepts: PoolConcepts, clusters: Clusters, memory: MemoryClient, client: redis.Redis, decisions: Decisions
) -> list[Gap]:
    """The gaps of a pool that was loaded with its vectors; questions that somebody asked in vain come first."""
    asked = [one.gap for one in OpenQuestions(client, concepts.pool).all()]
    dismissed = decisions.dismissed()
    found = find_gaps(
        concepts.graph,
        clusters,
        concepts.ids,
        concepts.vectors,
        lambda names: encode(memory, names),
        dismissed=dismissed,
    )
    return [gap for gap in asked if gap.id not in dismissed] + found
