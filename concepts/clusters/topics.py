"""The concepts that name a cluster: those that it has more of than the pool."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log
from uuid import UUID

from memshare.concepts.clusters.cluster import Topic
from memshare.concepts.graph.concept_graph import ConceptGraph

MOST = 10


def topics(graph: ConceptGraph, memories: Sequence[UUID]) -> tuple[Topic, ...]:
    """The concepts of some memories of a graph by share times log(lift), of those with a lift above 1.

    A concept of every memory of the pool has a lift of 1, and one that a single memory of many has a small share: so a
    cluster is headed neither by what everything is about, nor by what only one of its memories is about.
    """
    counts = Counter(name for memory in memories for name in graph.levels(memory))
    found = []
    for name, count in counts.items():
        share = count / len(memories)
        lift = share * len(graph) / graph.count(name)
        if lift > 1:
            found.append(Topic(name, share, lift))
    return tuple(sorted(found, key=lambda one: (-one.share * log(one.lift), one.name))[:MOST])
