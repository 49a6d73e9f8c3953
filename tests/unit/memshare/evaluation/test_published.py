"""Data sets of others are read as they come. The lines here are made, in their forms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memshare.evaluation.data import as_item, read_items
from memshare_broker.errors import BadInput
from memshare_broker.presence import AgentCard

AGENTS = {"reasoning": AgentCard(name="reasoning", kinds=(), pool="reasoning", model="offline")}


@pytest.mark.parametrize(
    ("line", "prompt", "answer"),
    [
        (
            {
                "ID": "W-1",
                "question": "Which town?",
                "answers": [{"answer": "Lund", "aliases": ["L"], "answer_id": "m"}],
            },
            "Which town?",
            "Lund",
        ),
        (
            {
                "url": "x",
                "utterance": "what river?",
                "targetValue": '(list (description "Po Delta") (description Rhine))',
            },
            "what river?",
            "Po Delta",
        ),
        ({"utterance": "what river?", "targetValue": "(list (description Rhine))"}, "what river?", "Rhine"),
        ({"url": "x", "question": "what river?", "answers": ["Rhine", "Po"]}, "what river?", "Rhine"),
        ({"prompt": "what river?", "answers": ["Po"], "source": "x"}, "what river?", "Po"),
        (
            {"id": 1, "claim": "Iron floats.", "evidence": {"7": [{"sentences": [2], "label": "CONTRADICT"}]}},
            "Is it right, yes or no? Iron floats.",
            "no",
        ),
        ({"prompt": "Why?", "answer": "So."}, "Why?", "So."),
    ],
)
def test_lines_of_published_data_are_questions_with_their_answers(
    line: dict[str, Any], prompt: str, answer: str
) -> None:
    found = as_item(line)

    assert (found["prompt"], found["answer"]) == (prompt, answer)


@pytest.mark.parametrize(
    "line",
    [
        {"claim": "Iron floats.", "evidence": {}},
        {"question": "Which town?", "answers": []},
        {"utterance": "what river?", "targetValue": "(list)"},
    ],
)
def test_a_line_without_an_answer_is_refused(line: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        as_item(line)


def test_a_file_that_is_one_list_is_read_and_yes_may_be_the_answer_to_many_questions(tmp_path: Path) -> None:
    file = tmp_path / "claims.json"
    supported = {"7": [{"sentences": [1], "label": "SUPPORT"}]}
    claims = [{"id": number, "claim": f"Claim {number}.", "evidence": supported} for number in range(3)]
    file.write_text(json.dumps([*claims, claims[0]], indent=1))

    items, [report] = read_items([file], AGENTS, agent="reasoning")

    assert [one.answer for one in items] == ["yes"] * 3
    assert (report.items, report.dropped) == (3, 1)
