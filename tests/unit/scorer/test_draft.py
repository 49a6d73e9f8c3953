from __future__ import annotations

import json
from typing import Any

import pytest

from memshare.broker.errors import BadInput, TryAgain
from memshare.scorer.draft import draft, share_out
from tests.support.scripted_chat import ScriptedChat


def proposal(**points: float) -> dict[str, Any]:
    return {
        "criteria": [
            {"name": name, "points": value, "description": f"Low: no {name}; full: much {name}."}
            for name, value in points.items()
        ]
    }


def merged(**points: float) -> dict[str, Any]:
    return {"judgements": ["The first is complete.", "The second is vague."], **proposal(**points)}


def test_a_draft_asks_for_each_set_and_then_for_the_best_of_them_in_one() -> None:
    chat = ScriptedChat(proposal(taste=60, smell=40), proposal(taste=50, look=50), merged(taste=55, look=45))
    steps: list[None] = []

    rubric = draft(chat, "Recipes  for two", 2, lambda: steps.append(None))

    assert [(one.name, one.points) for one in rubric.criteria] == [("taste", 55), ("look", 45)]
    assert rubric.domain == "Recipes for two"
    assert not rubric.approved
    assert len(steps) == 3
    documents = [json.loads(turns[-1].content) for turns in chat.conversations]
    assert documents[:2] == [{"domain": "Recipes for two"}] * 2
    assert [[one["name"] for one in each] for each in documents[2]["rubrics"]] == [
        ["taste", "smell"],
        ["taste", "look"],
    ]


def test_points_are_made_to_sum_to_100() -> None:
    rubric = draft(ScriptedChat(proposal(a=1, b=1), merged(a=10, b=10, c=10)), "Recipes", 1, lambda: None)

    assert [one.points for one in rubric.criteria] == [34, 33, 33]


def test_a_criterion_for_which_no_point_is_left_is_left_out() -> None:
    rubric = draft(ScriptedChat(proposal(a=1, b=1), merged(a=100, b=100, c=1, d=1)), "…", 1, lambda: None)

    assert [(one.name, one.points) for one in rubric.criteria] == [("a", 50), ("b", 50)]


def test_names_are_written_in_snake_case() -> None:
    chat = ScriptedChat(proposal(a=1, b=1), merged(**{"Taste & smell": 50, "look": 50}))

    assert draft(chat, "Recipes", 1, lambda: None).criteria[0].name == "taste_smell"


def test_a_proposal_that_names_a_criterion_twice_is_sent_back_with_the_reason() -> None:
    chat = ScriptedChat(proposal(taste=50, Taste=50), proposal(a=1, b=1), merged(taste=50, look=50))

    draft(chat, "Recipes", 1, lambda: None)

    assert "'taste' comes again" in chat.conversations[1][-1].content


def test_a_model_that_never_fits_the_schema_is_told_as_such() -> None:
    with pytest.raises(TryAgain):
        draft(ScriptedChat("no", "no"), "Recipes", 1, lambda: None)


@pytest.mark.parametrize("domain", ["", "  ", "x" * 2001, "a\x1b[31m"])
def test_a_domain_that_cannot_be_used_is_refused_before_the_model_is_asked(domain: str) -> None:
    chat = ScriptedChat()

    with pytest.raises(BadInput, match="The domain is described in 1 to 2000 printable characters"):
        draft(chat, domain, 3, lambda: None)

    assert chat.conversations == []


@pytest.mark.parametrize("weights", [[1], [1, 1, 1], [3, 3, 3, 3, 3, 3, 7], [0.5, 99.5], [40, 60], [1] * 19])
def test_shares_are_whole_sum_to_100_and_differ_from_the_quota_by_less_than_one(weights: list[float]) -> None:
    shares = share_out(weights)

    assert sum(shares) == 100
    for share, weight in zip(shares, weights, strict=True):
        assert abs(share - 100 * weight / sum(weights)) < 1
