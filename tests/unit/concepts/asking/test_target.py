"""What new questions are about."""

from __future__ import annotations

import pytest

from memshare_broker.errors import BadInput
from memshare_concepts.decisions import Aliases
from memshare_concepts.gaps import unconnected
from memshare_concepts.pool_graph import PoolConcepts
from memshare_concepts.proposing import of_clusters, of_gap, of_hypotheses
from memshare_concepts.quoting import EXAMPLES
from tests.unit.concepts.conftest import FlashcardPool


def abstractions(pool: FlashcardPool, direction: str) -> list[float]:
    cluster = max(pool.clusters.levels()[-1], key=lambda one: len(one.memories))
    target = of_clusters(pool.graph, [cluster], direction)  # type: ignore[arg-type]
    whole = pool.graph.vector_of(sorted({name for one in cluster.memories for name in pool.graph.levels(one)}))
    assert set(target.examples) <= set(cluster.memories)
    return [pool.graph.relative_abstraction(whole, pool.graph.memory_vector(one)) for one in target.examples]


def test_with_more_abstract_each_example_is_at_least_as_abstract_as_the_one_before(
    flashcard_pool: FlashcardPool,
) -> None:
    rising, falling = (abstractions(flashcard_pool, one) for one in ("more abstract", "more specific"))

    assert rising == sorted(rising)
    assert falling == sorted(falling, reverse=True)
    assert rising[-1] > falling[-1]


def test_of_several_clusters_each_has_its_group_of_examples(flashcard_pool: FlashcardPool) -> None:
    several = flashcard_pool.clusters.levels()[-1][:3]

    target = of_clusters(flashcard_pool.graph, several)

    groups = [flashcard_pool.clusters.of(one).number for one in target.examples]
    assert groups == sorted(groups, key=[one.number for one in several].index)
    assert {groups.count(one.number) for one in several} == {EXAMPLES // 3}
    assert target.clusters == tuple(one.number for one in several)
    assert target.groups == tuple((one.name, EXAMPLES // 3) for one in several)


def test_a_gap_between_two_large_clusters_has_examples_of_both(flashcard_pool: FlashcardPool) -> None:
    memories, vectors, graph, clusters, _ = flashcard_pool
    gaps = unconnected(graph, clusters, memories, vectors)
    gap = next(one for one in gaps if len(clusters.get(one.clusters[0]).memories) >= EXAMPLES)

    target = of_gap(graph, gap, clusters)

    assert {clusters.of(one).number for one in target.examples} == set(gap.clusters)
    assert set(gap.names) <= set(target.topics)


def test_hypotheses_are_asked_for_between_the_closest_clusters_without_a_common_concept(
    flashcard_pool: FlashcardPool,
) -> None:
    memories, vectors, graph, clusters, _ = flashcard_pool
    pool = PoolConcepts("cards", graph, dict.fromkeys(memories), 0, Aliases(), vectors)  # type: ignore[arg-type]

    target = of_hypotheses(pool, clusters, None)

    first, second = (clusters.get(number) for number in target.clusters)
    assert {clusters.of(one).number for one in target.examples} == set(target.clusters)
    assert target.name == f"{first.name} and {second.name}"
    with pytest.raises(BadInput, match="concepts gaps"):
        of_hypotheses(pool, clusters, 1)  # the top level has no pairs
