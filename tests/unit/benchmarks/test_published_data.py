"""Benchmarks read the papers' data as they come. The lines here are made, in their forms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.claims import ClaimPair, read_pairs
from benchmarks.knowledge import Question, read_questions
from memshare_broker.errors import BadInput


def written(folder: Path, *lines: dict[str, Any]) -> Path:
    file = folder / "data.json"
    file.write_text(json.dumps(lines))
    return file


def claim(number: int, text: str, **said: str) -> dict[str, Any]:
    evidence = {document: [{"sentences": [0], "label": label}] for document, label in said.items()}
    return {"id": number, "claim": text, "evidence": evidence, "cited_doc_ids": list(said)}


def test_a_question_of_webquestions_has_all_its_answers(tmp_path: Path) -> None:
    line = {"url": "x", "utterance": "who are they?", "targetValue": '(list (description "A B") (description C))'}

    [question] = read_questions(written(tmp_path, line))

    assert question.text == "who are they?"
    assert "A B and C" in question.first


def test_news_of_a_question_change_from_the_earliest_to_the_latest(tmp_path: Path) -> None:
    who = {"prompt": "Who is mayor?"}
    file = written(
        tmp_path,
        who | {"date": "2026-05-02", "statement": "Bo is mayor."},
        who | {"date": "2025-01-31", "statement": "Al is mayor."},
        {"prompt": "Who won?", "date": "2026-01-01", "statement": "Cy won."},
    )

    assert read_questions(file) == [Question("Who is mayor?", "Al is mayor.", "Bo is mayor.")]


def test_a_line_without_a_question_is_named(tmp_path: Path) -> None:
    file = written(tmp_path, {"question": "who?", "answers": ["me"]}, {"statement": "Iron floats."})

    with pytest.raises(BadInput, match=f"{file}:2"):
        read_questions(file)


def test_claims_of_one_document_that_differ_in_their_verdict_are_a_pair(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        claim(1, "Iron sinks in water.", a="SUPPORT"),
        claim(2, "Iron floats in water.", a="CONTRADICT"),
        claim(3, "Bees see red.", a="CONTRADICT", b="CONTRADICT"),
        claim(4, "Nobody knows.", c="SUPPORT"),
        claim(5, "Not looked at."),
    )

    assert read_pairs(file) == [ClaimPair("Iron sinks in water.", "Iron floats in water.", "Iron in water.")]


def test_claims_that_no_document_tells_apart_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        read_pairs(written(tmp_path, claim(1, "Iron sinks.", a="SUPPORT"), claim(2, "Iron floats.", b="CONTRADICT")))
