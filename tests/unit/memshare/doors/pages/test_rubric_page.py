"""What the page of a rubric offers to try it on, and what it says once it is approved."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from memshare.doors.backend import Backend
from memshare_scorer.criterion import Criterion
from memshare_scorer.rubric import Rubric
from memshare_scorer.rubric_file import write
from tests.unit.memshare.doors.pages.journey_records import answered, graded, text_of

FROM_PAGE = {"origin": "http://127.0.0.1"}


@pytest.fixture
def strict(backend: Backend, tmp_path: Path) -> Rubric:
    """A rubric that waits for approval."""
    agents = tmp_path / "agents"
    agents.mkdir()
    rubric = Rubric(domain="Riddles", criteria=(Criterion(name="wit", points=100, description="Funny."),))
    write(rubric, agents / "strict.rubric.toml")
    backend.settings = backend.settings.model_copy(update={"agents_dir": agents})
    return rubric


def chosen(page: str) -> list[str]:
    """The agents whose answers the page would have graded again."""
    form = page[page.index('id="agent"') :].split("</select>")[0]
    return re.findall(r"<option selected>(\w+)", form)


@pytest.mark.usefixtures("strict")
def test_an_agent_with_answers_is_chosen_first(here: TestClient, backend: Backend) -> None:
    assert chosen(here.get("/rubrics/poem").text) == ["poem"]
    assert "No answer was graded lately" in text_of(here.get("/rubrics/strict").text)

    answered_by(backend, "plan", "t1")

    page = here.get("/rubrics/strict").text
    assert chosen(page) == ["plan"]
    assert "No answer was graded lately" not in text_of(page)


def test_of_two_agents_with_answers_that_of_the_rubric_is_chosen(here: TestClient, backend: Backend) -> None:
    answered_by(backend, "logic", "t1")
    answered_by(backend, "plan", "t2")

    assert chosen(here.get("/rubrics/plan").text) == ["plan"]
    assert chosen(here.get("/rubrics/logic").text) == ["logic"]


@pytest.mark.usefixtures("strict")
def test_a_trial_keeps_the_agent_that_was_chosen(here: TestClient, backend: Backend) -> None:
    answered_by(backend, "logic", "t1")
    answered_by(backend, "plan", "t2")

    page = here.post("/rubrics/strict/trial", data={"agent": "plan"}, headers=FROM_PAGE).text

    assert chosen(page) == ["plan"]
    assert "to come" in page


@pytest.mark.usefixtures("strict")
def test_an_agent_without_answers_is_refused_on_the_page_of_the_rubric(here: TestClient, backend: Backend) -> None:
    answered_by(backend, "plan", "t1")

    answer = here.post("/rubrics/strict/trial", data={"agent": "logic"}, headers=FROM_PAGE)

    assert answer.status_code == 422
    assert "No answer of the agent 'logic' was graded lately" in text_of(answer.text)
    assert "Choose one with answers: plan." in text_of(answer.text)
    assert "sign in" not in answer.text
    assert chosen(answer.text) == ["logic"]


def test_an_approved_rubric_says_who_approved_it_and_what_makes_it_count(here: TestClient, strict: Rubric) -> None:
    line = 'Write rubric = "strict" into the file of an agent'
    form = {"version": strict.version, "by": "Ada Lovelace"}

    said = text_of(here.post("/rubrics/strict/approve", data=form, headers=FROM_PAGE).text)

    assert "The rubric strict is approved. " in said
    assert "answers are graded by it" not in said
    assert said.count(line) == 1
    assert f"Approved by Ada Lovelace on {datetime.now(UTC).date()}." in said
    assert "into the file of an agent" not in text_of(here.get("/rubrics/logic").text)


def test_who_approves_a_rubric_among_what_needs_them_is_told_that_no_agent_is_graded_by_it(
    here: TestClient, strict: Rubric
) -> None:
    form = {"version": strict.version, "by": "Ada Lovelace", "back": "/inbox"}

    said = text_of(here.post("/rubrics/strict/approve", data=form, headers=FROM_PAGE).text)

    assert "The rubric strict is approved. No agent is graded by it yet: /rubrics/strict says" in said


def test_the_agents_page_names_the_command_that_drafts_a_rubric(here: TestClient) -> None:
    assert 'memshare rubric draft "' in text_of(here.get("/agents").text)


def answered_by(backend: Backend, agent: str, journey: str) -> None:
    """A task that an agent has answered, and that was graded."""
    answered(backend, journey=journey, agent=agent)
    graded(backend, journey, 90)
