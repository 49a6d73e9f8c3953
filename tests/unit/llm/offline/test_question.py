from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from memshare.broker.wire.messages import Turn
from memshare.llm.offline.chat import OfflineChat
from memshare.llm.offline.question import question

LIMERICK = "There was an Old Man on a hill,\nWho seldom, if ever, stood still;\nHe ran up and down."
VERSE = "西陸蟬聲唱，南冠客思侵。那堪玄鬢影，來對白頭吟。"


class Asked(BaseModel):
    question: str


def asked(answer: str, **more: Any) -> str:
    document = {"answer": answer, "kind": None, "round": 1} | more
    turns = [Turn(role="user", content=json.dumps(document, ensure_ascii=False))]
    return Asked.model_validate_json(OfflineChat().reply(turns, Asked).text).question


def test_a_question_names_the_kind_and_the_first_topics_of_its_answer() -> None:
    assert asked(LIMERICK, kind="limerick") == "Write a limerick with: There, hill, seldom, ever."


def test_a_later_round_names_the_next_topics() -> None:
    assert asked(LIMERICK, kind="limerick", round=2).startswith("Write a limerick with: stood, still, down")


def test_a_chinese_answer_is_asked_for_in_chinese() -> None:
    assert asked(VERSE, kind="wuyanlvshi") == "请以西、陸、蟬、聲为题写作wuyanlvshi。"


@pytest.mark.parametrize("answer", ["42", "?!", "a"])
@pytest.mark.parametrize("number", [1, 7])
def test_there_is_a_question_for_any_answer(answer: str, number: int) -> None:
    assert asked(answer, round=number)


def test_a_pair_to_be_graded_is_no_standard_answer() -> None:
    with pytest.raises(ValidationError):
        question('{"criteria": [], "prompt": "A lamp", "answer": "There was", "kind": null}')
