from __future__ import annotations

import pytest

from memshare_concepts.concept_graph import ConceptGraph, contributions, similarity
from tests.support.golden_concepts import card_id, levels, verbatim_graph


@pytest.fixture(scope="module")
def flashcards() -> ConceptGraph:
    return ConceptGraph({card_id(number): levels(number) for number in range(540)})


def test_a_memory_with_one_concept_has_the_vector_of_that_concept() -> None:
    graph = ConceptGraph({card_id(1): {0: ["Alpha"]}})

    assert graph.vector("Alpha") == graph.memory_vector(card_id(1)) == {"Alpha": 1.0}


def test_a_memory_with_two_concepts_has_half_of_each() -> None:
    graph = ConceptGraph({card_id(1): {0: ["Alpha"], 1: ["Beta"]}})

    assert graph.memory_vector(card_id(1)) == pytest.approx({"Alpha": 0.5, "Beta": 0.5})


def test_half_of_a_concepts_vector_is_the_concept(flashcards: ConceptGraph) -> None:
    for name in ("Patent", "Statistics", "Science"):
        vector = flashcards.vector(name)

        assert vector[name] == 0.5
        assert sum(vector.values()) == pytest.approx(1)
        assert len(vector) <= 65


def test_what_is_cut_off_a_vector_are_its_smallest_links() -> None:
    short, whole = (verbatim_graph(range(540), most_links=most) for most in (64, None))

    for name in whole.concepts():
        heaviest = sorted((link.weight for link in whole.links(name)), reverse=True)[:64]
        total = sum(heaviest)
        weights = sorted((weight for other, weight in short.vector(name).items() if other != name), reverse=True)
        assert weights == pytest.approx([weight / total / 2 for weight in heaviest][: len(weights)], rel=1e-9), name


def test_a_strong_link_weighs_more_than_a_weak_one_of_a_large_concept(flashcards: ConceptGraph) -> None:
    # In the original `T-SNE`, on four cards, was the largest part of Statistics.
    statistics = flashcards.vector("Statistics")

    assert statistics["Mathematics"] > 0.05
    assert statistics.get("T-Sne", 0) < 0.001


def test_a_link_says_how_much_more_general_the_other_is(flashcards: ConceptGraph) -> None:
    to_law = {link.name: link for link in flashcards.links("Patent")}["Law"]
    to_patent = {link.name: link for link in flashcards.links("Law")}["Patent"]

    assert to_law.abstraction == -to_patent.abstraction > 3
    assert to_law.count == to_patent.count == 13
    assert to_law.strength == pytest.approx(13 / flashcards.count("Patent"))


def test_a_concept_at_several_levels_of_a_memory_has_their_mean() -> None:
    graph = ConceptGraph({card_id(1): {-1: ["Law"], 0: ["Right"], 4: ["Law", "laws"]}})

    assert graph.levels(card_id(1)) == {"Law": 1.5, "Right": 0.0}
    assert graph.topic(card_id(1)) == "Right"


def test_epsilon_changes_what_is_significant() -> None:
    usual, strict = (verbatim_graph(range(60), epsilon=epsilon) for epsilon in (0.025, 0.001))

    one, other = (sum(link.significance for link in graph.links("Machine Learning")) for graph in (usual, strict))
    assert one > 1.01 * other


def test_a_concept_of_all_memories_changes_no_ranking(flashcards: ConceptGraph) -> None:
    with_all = ConceptGraph({card_id(one): levels(one) | {4: [*levels(one)[4], "Everything"]} for one in range(540)})

    for number in (0, 45, 141, 349):
        ranks = []
        for graph in (flashcards, with_all):
            own = graph.memory_vector(card_id(number))
            near = {other: similarity(own, graph.memory_vector(card_id(other))) for other in range(540)}
            ranks.append(sorted(near, key=lambda one: -near[one])[:6])
        assert ranks[0] == ranks[1]


def test_two_steps_reach_a_concept_that_shares_no_memory() -> None:
    graph = ConceptGraph({card_id(1): {0: ["Alpha"], 1: ["Beta"]}, card_id(2): {0: ["Gamma"], 1: ["Beta"]}})
    graph.add(card_id(3), {0: ["Delta"]})

    assert "Gamma" not in graph.vector("Alpha")
    assert graph.vector("Alpha", steps=2)["Gamma"] > 0
    assert sum(graph.vector("Alpha", steps=2).values()) == pytest.approx(1)


def test_the_parts_of_a_similarity_sum_to_it(flashcards: ConceptGraph) -> None:
    question = flashcards.vector_of(["patents", "Litigation", "No Such Concept"])
    memory = flashcards.memory_vector(card_id(216))

    parts = contributions(question, memory)

    assert next(iter(parts)) in question
    assert sum(parts.values()) == pytest.approx(similarity(question, memory))
    assert similarity(question, memory) > 3 * similarity(question, flashcards.memory_vector(card_id(0)))


def test_the_matrix_has_the_similarities_of_the_vectors(flashcards: ConceptGraph) -> None:
    chosen = [card_id(number) for number in (45, 216, 343)]
    rows = flashcards.matrix(chosen)

    product = (rows @ rows.T).toarray()

    for row, one in enumerate(chosen):
        for column, other in enumerate(chosen):
            expected = similarity(flashcards.memory_vector(one), flashcards.memory_vector(other))
            assert product[row, column] == pytest.approx(expected)
    assert rows.shape[1] == len(flashcards.concepts())


def test_a_more_general_question_is_above_a_special_one(flashcards: ConceptGraph) -> None:
    special, general = flashcards.vector("Patent Infringement"), flashcards.vector("Law")

    assert flashcards.relative_abstraction(special, general) > 0
    assert flashcards.relative_abstraction(general, special) == pytest.approx(
        -flashcards.relative_abstraction(special, general)
    )
    assert flashcards.relative_abstraction({}, general) == 0


def test_a_name_is_shown_as_most_memories_spell_it() -> None:
    spelled = ["vq-vae", "VQ-VAE", "VQ VAE", "VQ-VAE"]
    graph = ConceptGraph({card_id(number): {0: [name]} for number, name in enumerate(spelled)})

    assert graph.concepts() == ["VQ-VAE"]
    assert graph.count("Vq Vaes") == 4
