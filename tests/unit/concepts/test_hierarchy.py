from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from memshare_concepts.extraction import Hierarchy
from tests.support.golden_concepts import cards

REPLY = {
    "subjects": ["Patent", "Claim", "Element", "Infringement", "Permission"],
    "topic": "Patent Infringement",
    "general_1": ["Actual Document", "Claims"],
    "general_2": ["Legal", "Intellectual Property"],
    "general_3": ["Rights", "Ownership"],
    "general_4": ["Law"],
}


def test_a_models_reply_gives_the_levels_of_the_flashcard() -> None:
    found = Hierarchy.model_validate_json(json.dumps(REPLY)).levels()

    assert {str(level): list(names) for level, names in found.items()} == cards()[45]["concepts"]


def test_every_flashcard_is_a_hierarchy() -> None:
    found = [Hierarchy.of_levels(card["concepts"]).levels() for card in cards()]

    assert len(found) == 542
    assert all(len(one[0]) == 1 for one in found)


def test_what_is_stored_is_read_back_as_it_was() -> None:
    hierarchy = Hierarchy.model_validate(REPLY)

    assert Hierarchy.model_validate_json(hierarchy.model_dump_json()) == hierarchy


def test_names_are_tidied_and_each_stands_once_in_its_level() -> None:
    found = Hierarchy.model_validate(REPLY | {"subjects": ["neural networks", "Neural Network", " Graph "]})

    assert found.subjects == ("Neural Networks", "Graph")


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"subjects": [""]}, "a few words"),
        ({"topic": "word " * 100}, "at most 60 characters"),
        ({"topic": "x" * 5000}, "at most 1000 characters"),
        ({"subjects": [f"Name {number}" for number in range(31)]}, "at most 30 items"),
        ({"summary": "…"}, "Extra inputs"),
    ],
)
def test_a_reply_that_does_not_fit_is_refused_with_the_reason(changed: dict[str, object], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        Hierarchy.model_validate(REPLY | changed)


def test_a_memory_has_three_concepts_or_more() -> None:
    with pytest.raises(ValidationError, match="3 to 30 different concepts, not 2"):
        Hierarchy.of_levels({"-1": ["Cat", "Cats"], "0": ["Dog"], "1": ["dogs"]})


def test_a_hierarchy_without_a_topic_is_refused() -> None:
    with pytest.raises(ValidationError, match="topic"):
        Hierarchy.of_levels({"-1": ["Cat", "Dog", "Horse"]})
