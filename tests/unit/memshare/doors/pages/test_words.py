"""The words of the pages mean what the glossary says, and every state and outcome has a plain one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest
from fastapi.testclient import TestClient

from memshare.client.rest.calls.journeys import State
from memshare.doors.pages.render import MEANINGS, OUTCOMES, STATES
from memshare.operations.backend import Backend
from memshare_broker.wire.grades import SettlementOutcome
from tests.unit.memshare.doors.pages.journey_records import answered, graded, text_of

GLOSSARY = Path(__file__).parents[5] / "docs" / "glossary.md"


def glossary() -> dict[str, str]:
    """Each word with its meaning, without links."""
    rows = re.findall(r"^\| ([a-z ]+) \| (.+) \|$", GLOSSARY.read_text(), re.MULTILINE)
    return {word: re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", re.sub(r" \(\[.+\)$", "", means)) for word, means in rows}


@pytest.mark.parametrize("word", MEANINGS)
def test_a_word_means_what_the_glossary_says(word: str) -> None:
    assert glossary()[word] == MEANINGS[word]


def test_states_and_outcomes_have_plain_words() -> None:
    assert STATES.keys() == set(get_args(State))
    assert OUTCOMES.keys() == set(get_args(SettlementOutcome))


def test_numbers_on_the_card_of_a_memory_are_explained_where_they_stand(
    here: TestClient, backend: Backend, shelf: dict[str, str]
) -> None:
    answered(backend, shelf["logic"])
    graded(backend, "t1", 90)

    page = here.get("/journeys/t1").text

    assert f'title="{MEANINGS["similarity"]}"' in page
    for word in ("similarity", "credibility", "lift"):
        assert f"{word} {MEANINGS[word]}" in text_of(page)  # for who has no pointer
