"""Clusters of few memories, and pairs of clusters that are close and have no concept in common."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memshare_concepts.clusters.cluster import Cluster, Clusters
from memshare_concepts.gap import Gap, ranked
from memshare_concepts.graph.concept_graph import ConceptGraph

THIN = 0.5
"""A cluster is thin with at most so much of the memories that others have."""

COMMON = 0.1
"""A concept of more than this share of the pool connects nothing: it is everywhere."""

FEWEST = 3
"""A cluster of fewer memories shares no concept with another by chance: it is thin, and no end of a missing link."""

MOST_PAIRS = 100


def thin(clusters: Clusters) -> list[Gap]:
    """Clusters of the deepest level with half of the memories that the others have, or fewer; the thinnest first."""
    deepest = _deepest(clusters)
    usual = float(np.median([len(one.memories) for one in deepest])) if deepest else 0.0
    return ranked(
        Gap(
            "thin",
            (one.name,),
            1 - len(one.memories) / usual,
            _thin_because(one, usual),
            one.memories,
            (one.number,),
        )
        for one in deepest
        if len(one.memories) <= THIN * usual
    )


def unconnected(
    graph: ConceptGraph,
    clusters: Clusters,
    memories: Sequence[UUID],
    vectors: NDArray[np.float32],
) -> list[Gap]:
    """Pairs of clusters of the deepest level that are close and share no concept but those of the whole pool.

    Close is what has a cosine above that of the usual pair; the closest come first.
    """
    deepest = [one for one in _deepest(clusters) if len(one.memories) >= FEWEST]
    if len(deepest) < 2:
        return []
    place = {memory: number for number, memory in enumerate(memories)}
    centres = np.stack([vectors[[place[memory] for memory in one.memories]].mean(axis=0) for one in deepest])
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    cosines = (centres @ centres.T).astype(np.float64)
    rows, columns = np.triu_indices(len(deepest), k=1)
    usual = max(float(np.median(cosines[rows, columns])), 0.0)
    concepts = [_concepts(graph, one) for one in deepest]
    found: list[Gap] = []
    for pair in np.argsort(-cosines[rows, columns], kind="stable").tolist():
        first, second = int(rows[pair]), int(columns[pair])
        if cosines[first, second] <= usual or len(found) == MOST_PAIRS:
            break
        if not concepts[first] & concepts[second]:
            found.append(_pair(deepest[first], deepest[second], float(cosines[first, second])))
    return ranked(found)


def _thin_because(cluster: Cluster, usual: float) -> str:
    count = len(cluster.memories)
    memories = "1 memory is" if count == 1 else f"{count} memories are"
    return f"Only {memories} about {cluster.name}; clusters of this level usually have {usual:g}."


def _pair(first: Cluster, second: Cluster, cosine: float) -> Gap:
    names = first.name, second.name
    reason = f"Memories about {names[0]} and {names[1]} say similar things, and no concept connects them."
    return Gap("unconnected", names, cosine, reason, first.memories + second.memories, (first.number, second.number))


def _deepest(clusters: Clusters) -> list[Cluster]:
    levels = clusters.levels()
    return levels[-1] if levels else []


def _concepts(graph: ConceptGraph, cluster: Cluster) -> set[str]:
    return {
        name for memory in cluster.memories for name in graph.levels(memory) if graph.count(name) <= COMMON * len(graph)
    }
