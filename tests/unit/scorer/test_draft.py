from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from memshare_broker.errors import BadInput
from memshare_llm.structured import DoesNotFit
from memshare_scorer.rubric import band_points
from memshare_scorer.rubric_file import draft, share_out
from tests.support.scripted_chat import ScriptedChat


def proposal(**points: float) -> dict[str, Any]:
    return {
        "criteria": [
            {"name": name, "points": value, "description": f"Low: no {name}; full: much {name}."}
            for name, value in points.items()
        ]
    }


def chosen(**points: float) -> list[dict[str, Any]]:
    """The replies that choose criteria and word each of them."""
    choice = {
        "judgements": [{"draft": 1, "keeps": "It is complete.", "lacks": "It says nothing of looks."}],
        "criteria": [
            {"taken_from": [1], "why": f"Nobody eats without {name}.", "name": name, "points": value}
            for name, value in points.items()
        ],
    }
    bands = {"full": "Delicious.", "most": "Good.", "part": "Edible.", "none": "Burnt."}
    return [choice, *({"description": f"How much {name} there is.", "bands": bands} for name in points)]


def test_a_draft_asks_for_each_set_then_for_the_best_of_them_and_for_the_words_of_each() -> None:
    chat = ScriptedChat(proposal(taste=60, smell=40), proposal(taste=50, look=50), *chosen(taste=55, look=45))
    steps: list[tuple[int, int]] = []

    rubric, drafting = draft(chat, "Recipes  for two", 2, lambda *step: steps.append(step))

    assert [(one.name, one.points) for one in rubric.criteria] == [("taste", 55), ("look", 45)]
    assert rubric.domain == "Recipes for two"
    assert not rubric.approved
    assert steps == [(1, 3), (2, 3), (3, 5), (4, 5), (5, 5)]
    documents = [json.loads(turns[-1].content) for turns in chat.conversations]
    assert documents[:2] == [{"domain": "Recipes for two"}] * 2
    assert [(each["draft"], [one["name"] for one in each["criteria"]]) for each in documents[2]["drafts"]] == [
        (1, ["taste", "smell"]),
        (2, ["taste", "look"]),
    ]
    assert [(each["chosen"], each["criterion"]) for each in documents[3:]] == [
        (["taste", "look"], "taste"),
        (["taste", "look"], "look"),
    ]
    assert [one.description for one in rubric.criteria] == ["How much taste there is.", "How much look there is."]
    assert [[one.name for one in each.criteria] for each in drafting.drafts] == [["taste", "smell"], ["taste", "look"]]
    assert drafting.merged.criteria[0].why == "Nobody eats without taste."
    assert drafting.version == rubric.version


def test_the_drafts_are_judged_before_criteria_are_chosen() -> None:
    chat = ScriptedChat(proposal(a=1, b=1), *chosen(a=50, b=50))

    draft(chat, "Recipes", 1, lambda *_: None)

    schema = chat.schemas[1]
    assert schema is not None
    document = schema.model_json_schema()
    assert list(document["properties"]) == ["judgements", "criteria"]
    criterion = list(document["$defs"]["ChosenCriterion"]["properties"])
    assert criterion.index("why") < criterion.index("name")


def test_the_bands_of_a_merged_criterion_say_which_points_they_earn() -> None:
    chat = ScriptedChat(proposal(a=1, b=1), *chosen(a=25, b=75))

    rubric, _ = draft(chat, "Recipes", 1, lambda *_: None)

    assert rubric.criteria[0].bands is not None
    assert dict(rubric.criteria[0].bands) == {
        "full": "25: Delicious.",
        "most": "15–24: Good.",
        "part": "5–14: Edible.",
        "none": "0–4: Burnt.",
    }
    assert "Most: 45–74: Good." in rubric.criteria[1].explanation


@pytest.mark.parametrize("points", range(1, 101))
def test_bands_follow_on_each_other_from_nothing_to_full_points(points: int) -> None:
    bands = band_points(points)

    borders = [[float(one) for one in bands[name].split("–")] for name in ("none", "part", "most", "full")]
    assert borders[0][0] == 0
    assert borders[-1] == [points]
    for lower, upper in pairwise(borders):
        assert upper[0] - lower[-1] == pytest.approx(1 if points >= 5 else 0.1)


def test_points_are_made_to_sum_to_100() -> None:
    rubric, _ = draft(ScriptedChat(proposal(a=1, b=1), *chosen(a=10, b=10, c=10)), "Recipes", 1, lambda *_: None)

    assert [one.points for one in rubric.criteria] == [34, 33, 33]


def test_a_criterion_for_which_no_point_is_left_is_left_out() -> None:
    rubric, _ = draft(ScriptedChat(proposal(a=1, b=1), *chosen(a=100, b=100, c=1, d=1)), "…", 1, lambda *_: None)

    assert [(one.name, one.points) for one in rubric.criteria] == [("a", 50), ("b", 50)]


def test_names_are_written_in_snake_case() -> None:
    chat = ScriptedChat(proposal(a=1, b=1), *chosen(**{"Taste & smell": 50, "look": 50}))

    assert draft(chat, "Recipes", 1, lambda *_: None)[0].criteria[0].name == "taste_smell"


def test_a_proposal_that_names_a_criterion_twice_is_sent_back_with_the_reason() -> None:
    chat = ScriptedChat(proposal(taste=50, Taste=50), proposal(a=1, b=1), *chosen(taste=50, look=50))

    draft(chat, "Recipes", 1, lambda *_: None)

    assert "'taste' comes again" in chat.conversations[1][-1].content


def test_a_model_that_never_fits_the_schema_is_told_as_such() -> None:
    with pytest.raises(DoesNotFit):
        draft(ScriptedChat("no", "no"), "Recipes", 1, lambda *_: None)


@pytest.mark.parametrize("domain", ["", "  ", "x" * 2001, "a\x1b[31m"])
def test_a_domain_that_cannot_be_used_is_refused_before_the_model_is_asked(domain: str) -> None:
    chat = ScriptedChat()

    with pytest.raises(BadInput, match="The domain is described in 1 to 2000 printable characters"):
        draft(chat, domain, 3, lambda *_: None)

    assert chat.conversations == []


@pytest.mark.parametrize("weights", [[1], [1, 1, 1], [3, 3, 3, 3, 3, 3, 7], [0.5, 99.5], [40, 60], [1] * 19])
def test_shares_are_whole_sum_to_100_and_differ_from_the_quota_by_less_than_one(weights: list[float]) -> None:
    shares = share_out(weights)

    assert sum(shares) == 100
    for share, weight in zip(shares, weights, strict=True):
        assert abs(share - 100 * weight / sum(weights)) < 1
