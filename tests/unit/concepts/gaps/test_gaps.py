from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import numpy as np
import pytest
from numpy.typing import NDArray

from memshare_concepts.clusters import Cluster, Clusters, Topic
from memshare_concepts.concept_graph import ConceptGraph
from memshare_concepts.flashcards import flashcards
from memshare_concepts.gaps import find_gaps, thin, unconnected, unexplained
from memshare_concepts.names import key
from tests.unit.concepts.conftest import FlashcardPool

IDS = [UUID(int=number) for number in range(40)]


def words(texts: Sequence[str]) -> NDArray[np.float32]:
    """A vector for each text that is the same for the same text alone."""
    rows = np.stack([np.random.default_rng(list(text.encode())).normal(size=64) for text in texts])
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def cluster(number: int, name: str, memories: Sequence[UUID]) -> Cluster:
    return Cluster(number, 0, tuple(memories), (Topic(name, 1.0, 2.0),), None, ())


def test_a_concept_that_two_memories_name_and_none_is_about_is_a_gap() -> None:
    graph = ConceptGraph(
        {
            IDS[0]: {0: ["Cat"], -1: ["Whisker", "Milk"]},
            IDS[1]: {0: ["Dog"], -1: ["Whiskers", "Bone"]},
            IDS[2]: {0: ["Milk"], -1: ["Bones"]},
        }
    )

    found = unexplained(graph, IDS[:3], words(["a", "b", "c"]), words)

    assert {gap.names for gap in found} == {("Bone",), ("Whisker",)}
    whisker = next(gap for gap in found if gap.names == ("Whisker",))
    assert whisker.memories == (IDS[0], IDS[1])
    assert whisker.reason == "2 memories name Whisker, and none is about it."


def test_a_topic_that_is_at_other_levels_of_its_memory_too_is_no_gap() -> None:
    graph = ConceptGraph({IDS[0]: {0: ["Cat"], -1: ["Cat"]}, IDS[1]: {0: ["Dog"], -1: ["Cat"]}})

    assert unexplained(graph, IDS[:2], words(["a", "b"]), words) == []


def test_a_topic_whose_cards_were_removed_is_found(flashcard_pool: FlashcardPool) -> None:
    topics = [key(card.concepts.topic) for card in flashcards()]
    ranks = []
    for topic in ("patent", "vae", "induction head", "clinical trial", "trade secret", "python"):
        left = [number for number, one in enumerate(topics) if one != topic]
        memories = [flashcard_pool.memories[number] for number in left]
        graph = ConceptGraph({one: flashcards()[one.int].concepts.levels() for one in memories})
        found = unexplained(graph, memories, flashcard_pool.vectors[left], flashcard_pool.encode)
        ranks.append([key(gap.names[0]) for gap in found].index(topic))

    assert len(found) > 500
    assert sorted(ranks)[2] < 50


def test_a_cluster_of_few_memories_is_a_gap() -> None:
    clusters = Clusters(
        [
            cluster(1, "Cat", IDS[:10]),
            cluster(2, "Dog", IDS[10:20]),
            cluster(3, "Fox", IDS[20:23]),
            cluster(4, "Owl", IDS[24:25]),
        ]
    )

    owl, fox = thin(clusters)

    assert (owl.names, owl.clusters) == (("Owl",), (4,))
    assert owl.reason == "Only 1 memory is about Owl; clusters of this level usually have 6.5."
    assert fox.score < owl.score


@pytest.mark.parametrize(("each", "expected"), [(3, ("Cat", "Tiger")), (2, None)])
def test_close_clusters_without_a_common_concept_are_a_gap_unless_they_are_thin(
    each: int, expected: tuple[str, str] | None
) -> None:
    turned = np.repeat(np.radians([0.0, 20.0, 90.0, 100.0]), each)
    vectors = np.stack([np.cos(turned), np.sin(turned)], axis=1).astype(np.float32)
    names = ["Cat", "Tiger", "Owl", "Eagle"]
    concepts = [{0: ["Cat"]}, {0: ["Tiger"]}, {0: ["Owl"], 1: ["Bird"]}, {0: ["Eagle"], 1: ["Bird"]}]
    members = [[UUID(int=number * each + one) for one in range(each)] for number in range(4)]
    of = {memory: concepts[number] for number, some in enumerate(members) for memory in some}
    filling = {UUID(int=number): {0: [f"Other {number}"]} for number in range(100, 200)}
    graph = ConceptGraph(of | filling)
    clusters = Clusters([cluster(number + 1, name, members[number]) for number, name in enumerate(names)])

    found = unconnected(graph, clusters, list(of), vectors)

    assert [gap.names for gap in found[:1]] == ([expected] if expected else [])
    assert ("Owl", "Eagle") not in [gap.names for gap in found]


def test_what_was_dismissed_does_not_come_back_when_the_pool_grows() -> None:
    memories = {IDS[number]: {0: [f"Topic {number}"], -1: ["Milk", "Bone"]} for number in range(4)}
    clusters = Clusters([cluster(1, "Topic", IDS[:3])])
    vectors = words([str(number) for number in range(4)])
    gaps = find_gaps(ConceptGraph(dict(list(memories.items())[:3])), clusters, IDS[:3], vectors[:3], words)
    milk = next(gap for gap in gaps if gap.names == ("Milk",))

    later = find_gaps(ConceptGraph(memories), clusters, IDS[:4], vectors, words, dismissed={milk.id})

    assert [gap.names for gap in later] == [("Bone",)]


def test_what_was_asked_in_vain_and_what_is_uncertain_comes_before_what_is_not() -> None:
    memories = {IDS[number]: {0: [f"Topic {number}"], -1: [["Milk", "Bone"][number % 2]]} for number in range(4)}
    graph, vectors = ConceptGraph(memories), words([str(number) for number in range(4)])

    def order(**more: object) -> list[str]:
        found = find_gaps(graph, Clusters([]), IDS[:4], vectors, words, **more)  # type: ignore[arg-type]
        return [gap.names[0] for gap in found]

    first, second = order()
    graded = {one: 9 for one, levels in memories.items() if first in levels[-1]}
    assert order(asked=["Something else"]) == [first, second]
    assert order(asked=[second] * 3) == [second, first]
    assert order(credited=graded) == [first, second], "half the value is not made up for by certainty alone"
    assert order(credited=graded, asked=[second]) == [second, first]


def test_the_first_gaps_are_of_every_kind(flashcard_pool: FlashcardPool) -> None:
    pool = flashcard_pool

    found = find_gaps(pool.graph, pool.clusters, pool.memories, pool.vectors, pool.encode)

    assert {gap.kind for gap in found[:3]} == {"unexplained", "thin", "unconnected"}
    assert [gap for gap in found if gap.score <= 0] == []


def test_an_empty_pool_has_no_gaps() -> None:
    assert find_gaps(ConceptGraph(), Clusters([]), [], np.empty((0, 64), np.float32), words) == []


def test_what_more_than_a_third_of_the_pool_names_is_what_it_is_about_and_no_gap() -> None:
    general = {one: {0: [f"Topic {one.int}"], 3: ["Repair"], -1: ["Chain"] if one.int < 3 else []} for one in IDS[:9]}

    found = unexplained(ConceptGraph(general), IDS[:9], words([str(one) for one in range(9)]), words)

    assert [gap.names for gap in found] == [("Chain",)]
