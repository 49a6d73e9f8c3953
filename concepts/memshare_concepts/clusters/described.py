"""Makes clusters of the numbers that were found: with their memories, parents and children, and what names them."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memshare_concepts.clusters.cluster import Cluster, Clusters, Topic
from memshare_concepts.graph.concept_graph import ConceptGraph

MOST = 10


def described(graph: ConceptGraph, ids: Sequence[UUID], of: NDArray[np.int32]) -> Clusters:
    """The clusters of memories; `of` says in which each is, of shape (levels, memories), the top level first."""
    numbers: list[dict[int, int]] = []
    members: dict[int, tuple[UUID, ...]] = {}
    for level in of:
        groups: dict[int, list[UUID]] = {}
        for place, cluster in enumerate(level.tolist()):
            groups.setdefault(cluster, []).append(ids[place])
        falling = sorted(groups, key=lambda one: (-len(groups[one]), groups[one][0]))
        numbers.append({cluster: len(members) + place for place, cluster in enumerate(falling, start=1)})
        members.update({numbers[-1][cluster]: tuple(groups[cluster]) for cluster in falling})
    parents = {
        numbers[deeper][below]: numbers[deeper - 1][above]
        for deeper in range(1, len(of))
        for below, above in set(zip(of[deeper].tolist(), of[deeper - 1].tolist(), strict=True))
    }
    children: dict[int, list[int]] = {}
    for child, parent in sorted(parents.items()):
        children.setdefault(parent, []).append(child)
    return Clusters(
        [
            Cluster(
                number,
                level,
                members[number],
                topics(graph, members[number]),
                parents.get(number),
                tuple(children.get(number, ())),
            )
            for level, of_level in enumerate(numbers)
            for number in of_level.values()
        ]
    )


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
