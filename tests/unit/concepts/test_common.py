from __future__ import annotations

import math
from uuid import UUID

import pytest

from memshare_concepts.concept_graph import ConceptGraph, similarity
from memshare_concepts.decisions import Aliases
from memshare_concepts.pool_graph import PoolConcepts, in_common
from memshare_memory.memory import Memory

SAILING, ROWING, BAKING, ALONE = (UUID(int=number) for number in range(4))


def of(levels: dict[UUID, dict[int, list[str]]]) -> PoolConcepts:
    memories = {one: Memory(id=one, pool="p", prompt=f"{one}", answer="a", created=1.7e9) for one in levels}
    return PoolConcepts("p", ConceptGraph(levels), memories, 0, Aliases(), None)


@pytest.fixture
def concepts() -> PoolConcepts:
    return of(
        {
            SAILING: {0: ["Sail"], 1: ["Boat"], 2: ["Water"]},
            ROWING: {0: ["Oar"], 1: ["Boat"], 2: ["Water"]},
            BAKING: {0: ["Bread"], 1: ["Flour"]},
            ALONE: {0: ["Kite"]},
        }
    )


def test_what_two_concepts_have_in_common_are_the_names_beside_both(concepts: PoolConcepts) -> None:
    common = in_common(concepts, ["Sail", "Oar"])

    assert list(common.vector) == ["Boat", "Water"]
    assert math.fsum(common.vector.values()) == pytest.approx(1)
    assert {one for one, _ in common.memories} == {SAILING, ROWING}
    for one, alike in common.memories:
        assert alike == pytest.approx(similarity(common.vector, concepts.graph.memory_vector(one)))


def test_the_same_concept_twice_gives_itself(concepts: PoolConcepts) -> None:
    assert in_common(concepts, ["Sail", "Sail"]).vector == pytest.approx(concepts.graph.vector("Sail"))


def test_concepts_that_share_no_name_have_nothing_in_common(concepts: PoolConcepts) -> None:
    assert in_common(concepts, ["Sail", "Bread"]) == ({}, [])
    assert in_common(concepts, ["Sail", "Oar", "Kite"]) == ({}, [])
