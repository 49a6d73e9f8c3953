"""The concepts that name a cluster: those that it has more of than the pool."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import numpy as np

from memshare_concepts.clusters.cluster import Topic
from memshare_concepts.graph.concept_graph import ConceptGraph

MOST = 10


def topics(graph: ConceptGraph, memories: Sequence[UUID]) -> tuple[Topic, ...]:
    """The concepts of some memories of a graph by share times log(lift), of those with a lift above 1.

    A concept of every memory of the pool has a lift of 1, and one that a single memory of many has a small share: so a
    cluster is headed neither by what everything is about, nor by what only one of its memories is about.
    """
    if not memories:
        return ()
    index = graph.index
    numbers, counts = np.unique(np.concatenate([index.members(one)[0] for one in memories]), return_counts=True)
    shares = counts / len(memories)
    lifts = shares * len(graph) / index.counts(numbers.tolist())
    worth = np.where(lifts > 1, shares * np.log(lifts), 0)
    least = np.partition(worth, -MOST)[-MOST] if len(worth) > MOST else 0.0
    of_worth = np.flatnonzero((worth > 0) & (worth >= least))
    first = sorted((-float(worth[place]), index.name(int(numbers[place])), int(place)) for place in of_worth)[:MOST]
    return tuple(Topic(name, float(shares[place]), float(lifts[place])) for _, name, place in first)
