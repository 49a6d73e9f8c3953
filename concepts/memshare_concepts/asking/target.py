"""What new questions are about: clusters with examples in an order, or two close clusters that nothing connects."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from memshare_broker.errors import BadInput
from memshare_concepts.asking.round import Direction, Target
from memshare_concepts.clusters.cluster import Cluster, Clusters
from memshare_concepts.clusters.described import topics
from memshare_concepts.gap import Gap
from memshare_concepts.gaps.between_clusters import unconnected
from memshare_concepts.graph.concept_graph import ConceptGraph
from memshare_concepts.graph.weights import Vector, similarity
from memshare_concepts.pool_graph import PoolConcepts

EXAMPLES = 8
"""Memories that a model is shown."""

FEWEST_EXAMPLES = 2
"""Of each cluster, where they are many."""

TOPICS_OF_EACH = 5
"""Where there are several clusters."""

WEIGHED = 50
"""Of a large cluster, so many memories are compared by how abstract they are: those nearest to all of it."""


def of_clusters(graph: ConceptGraph, clusters: Sequence[Cluster], direction: Direction = "alike") -> Target:
    """Clusters with the most typical memories of each, the most typical last; or its most abstract or specific ones.

    With "more abstract" each example of a cluster is at least as abstract as the one before, with "more specific" as
    specific.
    """
    own = max(FEWEST_EXAMPLES, EXAMPLES // len(clusters))
    topics_of_each = EXAMPLES if len(clusters) == 1 else TOPICS_OF_EACH
    return Target(
        clusters=tuple(one.number for one in clusters),
        name=" and ".join(one.name for one in clusters),
        topics=tuple(dict.fromkeys(topic.name for one in clusters for topic in one.topics[:topics_of_each])),
        examples=tuple(each for one in clusters for each in _examples(graph, one, direction, own)),
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
    return of_clusters(pool.graph, [clusters.get(one) for one in pair])


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


def of_gap(graph: ConceptGraph, gap: Gap, clusters: Clusters) -> Target:
    """What would fill a gap: its names, beside what the memories are about in which it shows.

    Between clusters, each of them has its group of examples.
    """
    if len(gap.clusters) > 1:
        return of_clusters(graph, [clusters.get(one) for one in gap.clusters])
    there = [one for one in gap.memories if one in graph]
    beside = [topic.name for topic in topics(graph, there)] if there else []
    return Target(
        clusters=gap.clusters,
        name=" and ".join(gap.names),
        topics=tuple(dict.fromkeys((*gap.names, *beside)))[:EXAMPLES],
        examples=tuple(there[:EXAMPLES]),
    )
