"""Questions that memories could not answer."""

from __future__ import annotations

import pytest
import redis

from memshare_concepts import open_questions
from memshare_concepts.open_questions import OpenQuestions


def test_a_question_that_comes_up_again_is_one_gap_with_a_short_id(redis_client: redis.Redis) -> None:
    questions = OpenQuestions(redis_client, "plan")
    questions.add(["What is a Keel?", "Who sews sails?"], "Build a boat", 1.0)

    questions.add(["what is a keel?"], "Repair a boat", 2.0)

    first, second = [one.gap for one in OpenQuestions(redis_client, "plan").all()]
    assert (first.names, second.names) == (("what is a keel?",), ("Who sews sails?",))
    assert "Repair a boat" in first.reason
    assert len(first.id) < 20
    assert OpenQuestions(redis_client, "poem").all() == []


def test_a_question_that_was_answered_is_open_no_more(redis_client: redis.Redis) -> None:
    questions = OpenQuestions(redis_client, "plan")
    questions.add(["What is a keel?", "Who sews sails?"], "Build a boat", 1.0)

    questions.drop([questions.all()[0].gap])

    assert len(questions.all()) == 1


def test_the_oldest_questions_go_first(redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_questions, "MOST", 2)
    questions = OpenQuestions(redis_client, "plan")

    for number in range(4):
        questions.add([f"Question {number}?"], "A boat", float(number))

    assert [one.question for one in questions.all()] == ["Question 3?", "Question 2?"]
