from __future__ import annotations

from uuid import UUID

import numpy as np
import pytest
from numpy.typing import NDArray

from memshare_concepts.clusters import SIZE, Clusters, memberships, partition
from memshare_concepts.concept_graph import ConceptGraph
from memshare_concepts.flashcards import flashcards
from memshare_concepts.map.page import lay_out
from tests.support.clusters import find_clusters
from tests.unit.concepts.conftest import FlashcardPool

pytestmark = pytest.mark.slow


def numbers(pool: FlashcardPool, clusters: Clusters) -> list[int]:
    return [clusters.of(memory).number for memory in pool.memories]


def test_cards_that_were_written_one_after_another_are_together(flashcard_pool: FlashcardPool) -> None:
    found = np.array(numbers(flashcard_pool, flashcard_pool.clusters))

    together = (found[1:] == found[:-1]).mean()
    by_chance = ((np.unique(found, return_counts=True)[1] / len(found)) ** 2).sum()

    assert 45 <= len(set(found.tolist())) <= 65
    assert together >= 0.45
    assert by_chance <= 0.03


def test_children_partition_their_parent(flashcard_pool: FlashcardPool) -> None:
    clusters = flashcard_pool.clusters
    levels = clusters.levels()

    assert len(levels) >= 2
    for level in levels:
        assert sorted(memory for one in level for memory in one.memories) == sorted(flashcard_pool.memories)
    for one in (one for level in levels[:-1] for one in level):
        children = clusters.children(one.number)
        assert sorted(memory for child in children for memory in child.memories) == sorted(one.memories)
        assert {clusters.parents(child.number)[0].number for child in children} == {one.number}
        for child in children:
            siblings = {sibling.number for sibling in clusters.siblings(child.number)}
            assert siblings | {child.number} == set(one.children)


def test_clusters_are_named_by_what_they_have_more_of_than_the_pool(flashcard_pool: FlashcardPool) -> None:
    deepest = flashcard_pool.clusters.levels()[-1]

    for one in deepest:
        assert one.topics[0].lift > 1
        if one.name.casefold() == "t-sne":  # what the original called many clusters
            assert one.topics[0].share >= 0.5
    names = {one.name for one in deepest}
    assert "Science" not in names
    assert {"Intellectual Property", "Natural Gas", "Python"} <= names


def adjusted_rand(before: NDArray[np.int32], after: NDArray[np.int32]) -> float:
    """The adjusted Rand index of two partitions (Hubert and Arabie, 1985): 1 is the same, 0 is by chance."""
    _, both = np.unique(np.stack([before, after]), axis=1, return_counts=True)
    pairs, first, second, every = (
        sum(many * (many - 1) / 2 for many in counts.tolist())
        for counts in (
            both,
            *(np.unique(one, return_counts=True)[1] for one in (before, after)),
            np.array([len(before)]),
        )
    )
    expected = first * second / every
    return float((pairs - expected) / ((first + second) / 2 - expected))


@pytest.mark.parametrize("place", [0, 100, 200, 300, 400, 500])
def test_a_card_more_or_less_leaves_clusters_and_their_numbers(flashcard_pool: FlashcardPool, place: int) -> None:
    pool = flashcard_pool
    there = np.arange(len(pool.memories)) != place
    less = [memory for memory, stays in zip(pool.memories, there, strict=True) if stays]
    whole = memberships(pool.graph, pool.memories, pool.vectors, [SIZE])[SIZE]
    known = whole._replace(of=whole.of[:, there])
    smaller = ConceptGraph({one: card.concepts.levels() for one, card in zip(pool.memories, flashcards(), strict=True)})
    smaller.forget(pool.memories[place])

    fewer = memberships(smaller, less, pool.vectors[there], [SIZE], {SIZE: known})[SIZE]
    begin = np.insert(fewer.of, place, -1, axis=1)
    again = memberships(pool.graph, pool.memories, pool.vectors, [SIZE], {SIZE: fewer._replace(of=begin)})[SIZE]

    for before, after in ((known.of, fewer.of), (fewer.of, again.of[:, there])):
        assert min(adjusted_rand(*level) for level in zip(before, after, strict=True)) >= 0.95
        assert (before == after).mean() >= 0.95


def test_the_size_decides_how_many_clusters_there_are(flashcard_pool: FlashcardPool) -> None:
    pool = flashcard_pool

    found = find_clusters(pool.graph, pool.memories, pool.vectors, size=30)

    assert 12 <= len(found.levels()[-1]) <= 24
    assert len(pool.clusters.levels()[-1]) > 40


def test_the_map_has_a_place_for_every_memory(flashcard_pool: FlashcardPool) -> None:
    by_size = {10: flashcard_pool.clusters}
    placed = lay_out(by_size, 10)

    assert placed == lay_out(by_size, 10)
    assert set(placed) == set(flashcard_pool.memories)
    assert len(set(placed.values())) == len(placed)
    for one in flashcard_pool.clusters.levels()[-1]:
        spots = np.array([(placed[memory].x, placed[memory].y) for memory in one.memories])
        away = np.linalg.norm(spots - spots.mean(axis=0), axis=1)
        assert away.max() <= 1.5 * len(spots) ** 0.5


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_a_pool_of_few_memories_has_clusters_too(flashcard_pool: FlashcardPool, count: int) -> None:
    pool = flashcard_pool
    graph = ConceptGraph({memory: {0: ["Alpha"], 1: [f"Beta {memory.int}"]} for memory in pool.memories[:count]})

    found = find_clusters(graph, pool.memories[:count], pool.vectors[:count])

    assert (
        sorted(memory for one in found.levels()[-1:] for each in one for memory in each.memories)
        == pool.memories[:count]
    )
    assert set(lay_out({10: found}, 10)) == set(pool.memories[:count])


def test_an_unknown_cluster_is_a_key_error(flashcard_pool: FlashcardPool) -> None:
    with pytest.raises(KeyError):
        flashcard_pool.clusters.get(0)
    with pytest.raises(KeyError):
        flashcard_pool.clusters.of(UUID(int=10**9))


def test_a_graph_is_split_where_it_hangs_together_least() -> None:
    triangles = [(0, 1, 1.0), (1, 2, 1.0), (0, 2, 1.0), (3, 4, 1.0), (4, 5, 1.0), (3, 5, 1.0), (2, 3, 0.1)]

    assert partition(triangles, 7, 3).of.tolist() == [0, 0, 0, 1, 1, 1, 2]
