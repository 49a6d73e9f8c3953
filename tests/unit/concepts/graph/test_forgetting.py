"""A graph is a function of what is in it: not of what was, nor of the order in which it came."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from memshare_concepts.concept_graph import ConceptGraph
from memshare_concepts.concept_index import KEPT_FROM
from tests.support.consistent_vectors import ConsistentVectors
from tests.support.golden_concepts import card_id, levels

ALL = list(range(540))


def everything(graph: ConceptGraph) -> dict[str, Any]:
    """All that a graph says, with every bit of its numbers."""
    memories = graph.index.memories()
    matrix = graph.matrix(memories)
    return {
        "concepts": graph.concepts(),
        "counts": [graph.count(name) for name in graph.concepts()],
        "memories": {name: graph.memories(name) for name in graph.concepts()},
        "levels": {memory: graph.levels(memory) for memory in memories},
        "topics": [graph.topic(memory) for memory in memories],
        "vectors": {name: graph.vector(name) for name in graph.concepts()},
        "links": [graph.links(name) for name in graph.concepts()[::50]],
        "matrix": (matrix.data.tobytes(), matrix.indices.tobytes(), matrix.indptr.tobytes()),
        "similarities": (matrix @ matrix.T).toarray().tobytes(),
    }


@pytest.fixture(scope="module")
def wanted() -> dict[str, Any]:
    """The graph of the first 270 cards, which had no others."""
    return everything(ConceptGraph({card_id(number): levels(number) for number in ALL[:270]}))


def test_what_was_forgotten_leaves_nothing_behind(wanted: dict[str, Any]) -> None:
    graph = ConceptGraph({card_id(number): levels(number) for number in ALL})
    full = everything(graph)  # so that all that is remembered of vectors and counts is there

    for number in ALL[270:]:
        graph.forget(card_id(number))

    assert full != wanted
    assert everything(graph) == wanted


@pytest.mark.parametrize("seed", [0, 1])
def test_neither_order_nor_changes_can_be_seen(wanted: dict[str, Any], seed: int) -> None:
    chance = random.Random(seed)
    graph = ConceptGraph()
    for number in chance.sample(ALL, len(ALL)):
        graph.add(card_id(number), levels(chance.choice(ALL)))
        graph.vector(chance.choice(graph.concepts()))
    for number in chance.sample(ALL, len(ALL)):
        if number < 270:
            graph.add(card_id(number), levels(number))
        else:
            graph.forget(card_id(number))

    assert everything(graph) == wanted


def test_a_concept_of_many_memories_is_counted_as_if_it_were_of_few() -> None:
    graph = ConceptGraph()
    for number in ALL:
        graph.add(card_id(number), levels(number))
        graph.vector("Science")
    assert graph.count("Science") > KEPT_FROM

    fresh = ConceptGraph({card_id(number): levels(number) for number in ALL})
    assert graph.links("Science") == fresh.links("Science")
    assert graph.vector("Science") == fresh.vector("Science")

    while graph.count("Science") >= KEPT_FROM:
        graph.forget(graph.memories("Science")[0])
    rest = ConceptGraph({memory: levels(memory.int) for memory in graph.index.memories()})
    assert graph.links("Science") == rest.links("Science")


def test_a_graph_from_which_everything_was_forgotten_is_empty() -> None:
    graph = ConceptGraph({card_id(number): levels(number) for number in ALL[:20]})

    for number in ALL[:20]:
        graph.forget(card_id(number))

    assert everything(graph) == everything(ConceptGraph())
    assert graph.vector("Science") == {}


def test_what_is_not_there_cannot_be_forgotten() -> None:
    with pytest.raises(KeyError):
        ConceptGraph().forget(card_id(1))


def test_another_pool_changes_nothing() -> None:
    graph, other = (ConceptGraph({card_id(number): levels(number) for number in ALL[:30]}) for _ in range(2))
    before = everything(graph)

    other.add(card_id(99), levels(99))

    assert everything(graph) == before


def test_consistent_vectors_do_not_depend_on_where_they_begin() -> None:
    vectors = ConsistentVectors(ConceptGraph({card_id(number): levels(number) for number in ALL}))
    chance = np.random.default_rng(0)

    for name in ("Statistics", "Science", "T-SNE", "Patent"):
        one, other = (vectors.vector(name, chance.random(3000) + 1e-9) for _ in range(2))
        assert one == pytest.approx(other, abs=1e-10)
