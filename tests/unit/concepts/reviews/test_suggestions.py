"""New memories for a person."""

from __future__ import annotations

from uuid import uuid4

from memshare_concepts.concept_graph import ConceptGraph
from memshare_concepts.extraction import Levels
from memshare_concepts.reviews import suggestions
from memshare_memory.memory import Memory


def remembered(score: float | None = None) -> Memory:
    return Memory(id=uuid4(), pool="plan", prompt="Why?", answer="So.", created=1, score=score)


def about(*names: str) -> Levels:
    return {-1: list(names), 0: [names[0]]}


def test_a_memory_next_to_what_is_well_known_comes_before_a_better_one_that_is_far_away() -> None:
    known, near, far = remembered(), remembered(50), remembered(99)
    graph = ConceptGraph(
        {known.id: about("Sail", "Wind"), near.id: about("Mast", "Wind"), far.id: about("Opera", "Aria")}
    )

    assert suggestions(graph, [far, near, known], {known.id}, [known.id]) == [near, far]


def test_where_nothing_is_known_the_better_grade_comes_first_and_none_is_left_out() -> None:
    one, other, without = remembered(50), remembered(90), remembered(None)

    assert suggestions(ConceptGraph(), [one, other, without], set(), []) == [other, one, without]
