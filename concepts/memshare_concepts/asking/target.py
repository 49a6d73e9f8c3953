"""What new questions are about: a cluster with examples in an order, or two close clusters that nothing connects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal
from uuid import UUID

from memshare_broker.errors import BadInput
from memshare_broker.wire.messages import Message
from memshare_concepts.clusters.cluster import Cluster, Clusters
from memshare_concepts.clusters.described import topics
from memshare_concepts.gap import Gap
from memshare_concepts.gaps.between_clusters import unconnected
from memshare_concepts.graph.concept_graph import ConceptGraph
from memshare_concepts.graph.weights import Vector, similarity
from memshare_concepts.pool_graph import PoolConcepts

Direction = Literal["alike", "more abstract", "more specific"]

EXAMPLES = 8
"""Memories that a model is shown."""

WEIGHED = 50
"""Of a large cluster, so many memories are compared by how abstract they are: those nearest to all of it."""


class Target(Message):
    """What is asked about. Its examples stand in an order that new questions are to go on with."""

    clusters: tuple[int, ...]
    name: str
    topics: tuple[str, ...]
    examples: tuple[UUID, ...]
    direction: Direction = "alike"


def of_cluster(graph: ConceptGraph, cluster: Cluster, direction: Direction) -> Target:
    """A cluster with its most typical memories, the most typical last; or its most abstract or most specific ones.

    With "more abstract" each example is at least as abstract as the one before, with "more specific" as specific.
    """
    return Target(
        clusters=(cluster.number,),
        name=cluster.name,
        topics=tuple(topic.name for topic in cluster.topics),
        examples=tuple(_examples(graph, cluster, direction, EXAMPLES)),
        direction=direction,
    )


def of_hypotheses(pool: PoolConcepts, clusters: Clusters, number: int | None) -> Target:
    """The closest two clusters without a concept in common, or the closest to one; raises `BadInput` for none."""
    pairs = unconnected(pool.graph, clusters, pool.ids, pool.vectors)
    pair = next((gap.clusters for gap in pairs if number is None or number in gap.clusters), None)
    if pair is None:
        which = "no two clusters are" if number is None else f"no cluster is, beside cluster {number},"
        raise BadInput(
            f"Hypotheses need two clusters that are close and have no concept in common, and {which} such a pair. "
            "`memshare concepts gaps` lists them as unconnected."
        )
    both = [clusters.get(one) for one in pair]
    return Target(
        clusters=tuple(pair),
        name=" and ".join(one.name for one in both),
        topics=tuple(topic.name for one in both for topic in one.topics[:5]),
        examples=tuple(each for one in both for each in _examples(pool.graph, one, "alike", EXAMPLES // 2)),
    )


def _examples(graph: ConceptGraph, cluster: Cluster, direction: Direction, most: int) -> Sequence[UUID]:
    first = typical(graph, cluster.memories)
    if direction == "alike":
        return first[:most][::-1]
    sign, whole = 1 if direction == "more abstract" else -1, _whole(graph, cluster.memories)
    above = {one: sign * graph.relative_abstraction(whole, graph.memory_vector(one)) for one in first[:WEIGHED]}
    return sorted(above, key=lambda one: (above[one], one))[-most:]


def typical(graph: ConceptGraph, memories: Sequence[UUID]) -> list[UUID]:
    """Memories by how near each is to all of them together, the most typical first."""
    whole = _whole(graph, memories)
    near = {one: similarity(whole, graph.memory_vector(one)) for one in memories}
    return sorted(memories, key=lambda one: (-near[one], one))


def _whole(graph: ConceptGraph, memories: Sequence[UUID]) -> Vector:
    return graph.vector_of(sorted({name for memory in memories for name in graph.levels(memory)}))


def of_gap(graph: ConceptGraph, gap: Gap) -> Target:
    """What would fill a gap: its names, beside what the memories are about in which it shows."""
    there = [one for one in gap.memories if one in graph]
    beside = [topic.name for topic in topics(graph, there)] if there else []
    return Target(
        clusters=gap.clusters,
        name=" and ".join(gap.names),
        topics=tuple(dict.fromkeys((*gap.names, *beside)))[:EXAMPLES],
        examples=tuple(there[:EXAMPLES]),
    )
