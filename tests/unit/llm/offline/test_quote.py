"""The offline model answers from memories by their words."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from memshare.llm.offline.quote import quote


def asked(question: str, *answers: str) -> str:
    memories = {f"memory_{number}": {"prompt": None, "answer": text} for number, text in enumerate(answers, 1)}
    return json.dumps({"question": question, "only_memories": True, "memories": memories})


def test_of_two_that_know_as_much_the_more_similar_one_is_copied() -> None:
    found = quote(asked("How long is the night train?", "A night train is slow.", "The night train has a bar."))

    assert found["answer"] == "The night train has a bar."
    assert [one["memory"] for one in found["cites"]] == ["memory_2"]


def test_a_topic_that_no_memory_has_becomes_a_question() -> None:
    found = quote(asked("Which ferry leaves Oslo?", "The night train has a bar."))

    assert (found["suffices"], found["answer"]) == (False, "")
    assert "What is Oslo?" in found["questions"]


def test_another_task_is_left_to_others() -> None:
    with pytest.raises(ValidationError):
        quote('{"question": "How?"}')
