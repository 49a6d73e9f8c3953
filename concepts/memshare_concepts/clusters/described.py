"""Makes clusters of the numbers that were found: with their memories, parents and children, and what names them."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memshare_concepts.clusters.cluster import Cluster, Clusters
from memshare_concepts.clusters.topics import topics
from memshare_concepts.graph.concept_graph import ConceptGraph


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
