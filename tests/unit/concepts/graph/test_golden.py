"""Links, vectors and similarities are those that the author of the original published."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from memshare_concepts.concept_graph import ConceptGraph, similarity
from tests.support.consistent_vectors import ConsistentVectors
from tests.support.golden_concepts import card_id, golden, levels, verbatim_graph
from tests.support.shipped_embedding import Vector, shipped_embedding, shipped_union

SMALL, FULL = golden()["small"], golden()["full"]
CARDS: list[int] = SMALL["cards"]
EXACT = {"rel": 1e-9, "abs": 1e-300}
CLOSE = 1e-9
FULL_CLOSE = 1e-5


@cache
def small() -> ConceptGraph:
    return verbatim_graph(CARDS)


@cache
def full() -> ConceptGraph:
    return verbatim_graph(range(540))


@cache
def small_shipped() -> dict[str, Vector]:
    return shipped_embedding(small())


@cache
def full_shipped() -> dict[str, Vector]:
    return shipped_embedding(full())


def own_concepts(card: int) -> set[str]:
    return {name for names in levels(card).values() for name in names}


def shipped_similarity(first: Vector, second: Vector) -> float:
    return (similarity(first, second) + 1e-13) / (1 + 1e-13)


def test_counts_are_the_published_ones() -> None:
    assert {name: small().count(name) for name in small().concepts()} == SMALL["n"]
    assert len(full().concepts()) == FULL["concepts"]
    assert sum(full().count(name) == 1 for name in full().concepts()) == FULL["concepts_on_one_card"]


@pytest.mark.parametrize("name", SMALL["neighbours"])
def test_links_are_the_published_ones(name: str) -> None:
    found = {link.name: link for link in small().links(name)}

    expected = SMALL["neighbours"][name]
    assert found.keys() == expected.keys()
    for other, figures in expected.items():
        link = found[other]
        measured = [link.strength, link.abstraction, link.significance, link.weight]
        assert measured == pytest.approx([figures[letter] for letter in "casr"], **EXACT), other


def test_the_sums_of_all_links_are_the_published_ones() -> None:
    for name, (strength, significance, weight, embedding) in SMALL["sum_c_s_r_e"].items():
        links = small().links(name)
        assert sum(link.strength for link in links) == pytest.approx(strength, rel=CLOSE)
        assert sum(link.significance for link in links) == pytest.approx(significance, rel=CLOSE)
        assert sum(link.weight for link in links) == pytest.approx(weight, rel=CLOSE)
        assert sum(small_shipped()[name].values()) == pytest.approx(embedding, rel=CLOSE)


def test_the_links_of_540_cards_are_the_published_ones() -> None:
    links = [link for name in full().concepts() for link in full().links(name)]

    assert len(links) == FULL["neighbour_pairs"]
    assert sum(link.strength for link in links) == pytest.approx(FULL["totals"]["c"], rel=CLOSE)
    assert sum(link.significance for link in links) == pytest.approx(FULL["totals"]["s"], rel=CLOSE)
    assert sum(link.weight for link in links) == pytest.approx(FULL["totals"]["r"], rel=CLOSE)
    for name, figures in FULL["picked"].items():
        heaviest = full().links(name)[:8]
        assert [link.weight for link in heaviest] == pytest.approx(
            [weight for _, weight in figures["top_r"]], rel=CLOSE
        )


def test_the_recommended_vectors_are_the_published_ones() -> None:
    expected = SMALL["recommended"]
    rows = small().matrix([card_id(card) for card in CARDS])

    assert (rows @ rows.T).toarray() == pytest.approx(np.array(expected["similarity"]), abs=CLOSE)
    assert small().memory_vector(card_id(CARDS[0])) == pytest.approx(expected["vector_of_card_0"], abs=CLOSE)


def test_the_consistent_vectors_are_the_published_ones() -> None:
    vectors = ConsistentVectors(small())

    for name, expected in SMALL["consistent"]["e"].items():
        assert vectors.vector(name) == pytest.approx(expected, abs=CLOSE)


def test_the_shipped_embedding_is_the_published_one() -> None:
    for name, expected in SMALL["neighbours"].items():
        assert small_shipped()[name] == pytest.approx({one: of["e"] for one, of in expected.items()}, abs=CLOSE)
    for first, second, expected_overlap in SMALL["concept_overlap"]:
        overlap = similarity(small_shipped()[first], small_shipped()[second])
        assert overlap == pytest.approx(expected_overlap, abs=CLOSE)


def test_the_shipped_similarity_of_cards_is_the_published_one() -> None:
    vectors = [shipped_union(small_shipped(), own_concepts(card)) for card in CARDS]

    for card, expected in zip((45, 216, 343), SMALL["card_vectors"], strict=True):
        assert vectors[CARDS.index(card)] == pytest.approx(expected, abs=CLOSE)
    for row, expected_row in enumerate(SMALL["similarity"]):
        measured = [1.0 if row == place else shipped_similarity(vectors[row], one) for place, one in enumerate(vectors)]
        assert measured == pytest.approx(expected_row, abs=CLOSE)


def test_related_cards_are_the_published_ones() -> None:
    wanted = SMALL["related"]
    question = shipped_union(small_shipped(), wanted["concepts"])

    near = {card: shipped_similarity(question, shipped_union(small_shipped(), own_concepts(card))) for card in CARDS}

    found = sorted(near.items(), key=lambda one: -one[1])[: len(wanted["cards"])]
    assert [card for card, _ in found] == [card for card, _ in wanted["cards"]]
    assert [value for _, value in found] == pytest.approx([value for _, value in wanted["cards"]], abs=CLOSE)


@pytest.mark.slow
def test_the_shipped_embedding_of_540_cards_is_the_published_one() -> None:
    vectors = full_shipped()

    assert sum(sum(one.values()) for one in vectors.values()) == pytest.approx(FULL["totals"]["e"], abs=FULL_CLOSE)
    for name, figures in FULL["picked"].items():
        assert sum(vectors[name].values()) == pytest.approx(figures["sum_e"], abs=FULL_CLOSE)
        largest = sorted(vectors[name].values(), reverse=True)[: len(figures["top_e"])]
        assert largest == pytest.approx([value for _, value in figures["top_e"]], abs=FULL_CLOSE)
    for name, overlaps in FULL["concept_overlap_top"].items():
        for other, expected in overlaps:
            measured = similarity(vectors[name], vectors[other]) if other != name else sum(vectors[name].values())
            assert measured == pytest.approx(expected, abs=FULL_CLOSE)


@pytest.mark.slow
def test_similarities_of_540_cards_are_the_published_ones() -> None:
    vectors = [shipped_union(full_shipped(), own_concepts(card)) for card in range(540)]

    for card, expected in FULL["similarity"]["neighbours"].items():
        near = {other: shipped_similarity(vectors[int(card)], vectors[other]) for other, _ in expected}
        assert near == pytest.approx(dict(expected), abs=FULL_CLOSE)
    for second, first, expected_above in FULL["relative_abstraction_of_second_to_first"]:
        above = full().relative_abstraction(vectors[second], vectors[first])
        assert above == pytest.approx(expected_above, abs=FULL_CLOSE), (second, first)
    for related in FULL["related"]:
        question = shipped_union(full_shipped(), related["concepts"])
        measured = [shipped_similarity(question, vectors[card]) for card, _ in related["cards"]]
        assert measured == pytest.approx([value for _, value in related["cards"]], abs=FULL_CLOSE)
