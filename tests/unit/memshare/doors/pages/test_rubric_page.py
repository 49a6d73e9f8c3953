"""What the page of a rubric offers to try it on, and what it says once it is approved."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from memshare.operations.backend import Backend
from memshare_broker.delivery.dead_letters import letter_for
from memshare_broker.delivery.schema import Entry
from memshare_broker.errors import GiveUp
from memshare_scorer.rubric import Criterion, Rubric, find_rubric
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


def test_a_trial_by_programs_alone_is_told_to_take_no_call(here: TestClient, strict: Rubric, tmp_path: Path) -> None:
    costs = "Each takes a grading by the scorer's model."
    assert costs in text_of(here.get("/rubrics/strict").text)

    wit = strict.criteria[0].model_copy(update={"check": "memshare_scorer.checks.texts:contains"})
    write(strict.model_copy(update={"criteria": (wit,)}), tmp_path / "agents" / "exact.rubric.toml")

    page = text_of(here.get("/rubrics/exact").text)
    assert "Programs alone grade by it, so no model is called." in page
    assert costs not in page


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


@pytest.mark.usefixtures("strict")
def test_the_agents_page_has_a_rubric_drafted_and_says_what_that_costs(here: TestClient, backend: Backend) -> None:
    page = here.get("/agents").text

    assert '<input type="hidden" name="kind" value="rubric">' in page
    assert "No model is set, so it would come to nothing. The draft then waits in Needs you." in text_of(page)
    backend.settings = backend.settings.model_copy(update={"model": "openai:x"})
    assert "10 calls or more of the scorer's model, openai:x. The draft then" in text_of(here.get("/agents").text)


def answered_by(backend: Backend, agent: str, journey: str) -> None:
    """A task that an agent has answered, and that was graded."""
    answered(backend, journey=journey, agent=agent)
    graded(backend, journey, 90)


def test_a_withdrawn_approval_says_what_becomes_of_answers_and_is_undone(
    here: TestClient, backend: Backend, strict: Rubric
) -> None:
    here.post(
        "/rubrics/strict/approve", data={"version": strict.version, "by": "Ada Lovelace"}, headers=FROM_PAGE
    ).raise_for_status()
    assert "it comes to be graded" not in text_of(here.get("/rubrics/strict").text)

    page = here.post("/rubrics/strict/withdraw", headers=FROM_PAGE).text

    assert "The approval of the rubric strict is withdrawn." in text_of(page)
    assert "This version is not approved: nothing is graded by it." in text_of(page)
    assert 'action="/rubrics/strict/withdraw"' not in page
    assert not find_rubric("strict", backend.settings.agents_dir).approved
    assert [one["kind"] for one in here.get("/v1/needs").json()["needs"]] == ["rubric"]
    [undo] = re.findall(r'action="(/rubrics/strict/approve\?[^"]+)"', page)

    undone = here.post(html.unescape(undo), headers=FROM_PAGE).text

    assert "Approved by Ada Lovelace" in text_of(undone)
    assert 'action="/rubrics/strict/withdraw"' in undone


def test_answers_that_were_given_up_meanwhile_are_counted_with_what_tries_them_again(
    here: TestClient, backend: Backend, strict: Rubric
) -> None:
    assert strict.name == ""
    letter = Entry(id="a", task="scorer.score", queue="scorer", body={}, journey="t1", stage="score")
    backend.client.dead_letters.add(letter_for(letter, GiveUp("It is not approved.", "rubric"), tries=1))

    said = text_of(here.get("/rubrics/strict").text)

    assert "1 answer was given up because a rubric was not approved. Once it is approved, try them again" in said
    assert "dead letters , where they are one card" in said


def test_a_bundled_rubric_has_no_approval_to_withdraw(here: TestClient) -> None:
    assert 'action="/rubrics/logic/withdraw"' not in here.get("/rubrics/logic").text

    refused = here.post("/rubrics/logic/withdraw", headers=FROM_PAGE)

    assert refused.status_code == 422
    assert "bundled" in text_of(refused.text)


@pytest.mark.usefixtures("strict")
def test_without_a_folder_for_drafts_the_page_says_so_in_place_of_the_button(
    here: TestClient, backend: Backend
) -> None:
    assert "Draft it" in here.get("/agents").text

    backend.settings = backend.settings.model_copy(update={"agents_dir": None})

    page = here.get("/agents").text
    assert "Draft it" not in page
    assert "MEMSHARE_AGENTS_DIR" in page
