"""A question to a pool that is answered in steps, on a scripted chat server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from memshare.client.answering import answer_in_steps
from memshare.doors.server import rest_app
from memshare.operations.backend import Backend
from memshare_broker.errors import BadInput, NotYet
from memshare_broker.presence import agent_files
from memshare_broker.settings import Settings
from memshare_concepts.open_questions import OpenQuestions
from memshare_llm.build import open_budget
from memshare_llm.limits.budget import Cap, Holder
from memshare_memory.curate.requests import NewMemory
from memshare_memory.door.client import MemoryClient
from tests.support.chat_script import Answer
from tests.support.chat_server import serving
from tests.support.shelf import CHECK, RESPOND, answered, coordinate, judged, planned

QUESTION, PART = "Where was the builder of the mill born?", "Who built the mill?"


@contextmanager
def scripted(backend: Backend, monkeypatch: pytest.MonkeyPatch, *replies: Any) -> Iterator[tuple[Settings, list[Any]]]:
    """The settings of a deployment whose model says this, one after the other, and what it was asked."""
    waiting, asked = [json.dumps(one) for one in replies], []

    def script(body: dict[str, Any]) -> Answer:
        asked.append(json.loads(body["messages"][-1]["content"]))
        return Answer(text=waiting.pop(0))

    with serving(script) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "test")
        yield backend.settings.model_copy(update={"model": "openai:scripted"}), asked


@pytest.fixture
def ids(memory: MemoryClient) -> list[str]:
    made = [
        NewMemory(pool="mills", prompt=PART, answer="Ada Korn.", new_pool=True),
        NewMemory(pool="mills", prompt="Where was Ada Korn born?", answer="In Ulm.", new_pool=True),
    ]
    return [str(one) for one in memory.add(made)]


PLAIN = (planned(RESPOND, CHECK), answered("In Ulm.", "k2"), judged(True, k2=1.0))


def test_a_question_is_divided_and_each_part_answered_from_the_pool(
    backend: Backend, ids: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    replies = (
        planned(coordinate(PART), RESPOND),
        planned(RESPOND), answered("Ada Korn.", "k1"), judged(True, k1=1.0),
        answered("In Ulm.", "k2", "k3"), judged(True, "So it says.", k2=0.75, k3=0.25),
    )  # fmt: skip

    with scripted(backend, monkeypatch, *replies) as (settings, asked):
        reply = answer_in_steps(settings, QUESTION, "mills", 2, True, "ada")

    assert (reply.answer, reply.unverified, reply.model) == ("In Ulm.", "", "openai:scripted")
    assert [step.operator for step in reply.steps] == [
        "coordinator", "coordinator", "responder", "discriminator", "responder", "discriminator"
    ]  # fmt: skip
    assert asked[2]["question"] == PART
    assert {str(one.id) for one in reply.cites} <= set(ids)
    assert [one.why for one in reply.cites] == ["Its share in the answer is 75%.", "Its share in the answer is 25%."]
    assert OpenQuestions(backend.redis, "mills").all() == []


def test_it_opens_no_page_and_remembers_nothing(
    backend: Backend, ids: list[str], memory: MemoryClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scripted(backend, monkeypatch, *PLAIN) as (settings, asked):
        answer_in_steps(settings, QUESTION, "mills", 2, False, "ada")

    assert "browser" not in asked[0]["operators"]
    assert memory.stats().by_pool["mills"] == len(ids)


def test_what_is_not_verified_is_no_answer_and_becomes_a_gap(
    backend: Backend, ids: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rejected = [planned(RESPOND, CHECK), answered("In Rome."), judged(False, "Nothing says so.")]
    short = agent_files(None)["reasoning"].read_text(encoding="utf-8").replace("[limits]\n", "[limits]\nsteps = 3\n", 1)
    (tmp_path / "reasoning.toml").write_text(short, encoding="utf-8")

    with scripted(backend, monkeypatch, *rejected) as (settings, _):
        own = settings.model_copy(update={"agents_dir": tmp_path})
        reply = answer_in_steps(own, QUESTION, "mills", 2, False, "ada")

    assert ids
    assert (reply.answer, reply.cites, reply.questions) == (None, (), (QUESTION,))
    assert reply.unverified.endswith("was rejected (Nothing says so.), was:\n\nIn Rome.")
    assert len(reply.steps) == 3
    assert [one.question for one in OpenQuestions(backend.redis, "mills").all()] == [QUESTION]


def test_its_calls_are_paid_by_who_asks_within_their_cap(
    backend: Backend, ids: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with scripted(backend, monkeypatch, *PLAIN) as (settings, asked):
        open_budget(settings).set(Holder("submitter", "ada"), Cap(tokens=1))

        with pytest.raises(NotYet):
            answer_in_steps(settings, QUESTION, "mills", 2, False, "ada")

    assert ids
    assert len(asked) == 1


def test_without_a_model_there_are_no_steps(backend: Backend, ids: list[str]) -> None:
    assert ids
    with pytest.raises(BadInput, match="needs a chat model"):
        answer_in_steps(backend.settings.model_copy(update={"model": "offline"}), QUESTION, "mills", 2, False, "ada")


def test_rest_answers_in_steps_where_it_is_asked_to(
    backend: Backend, ids: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with scripted(backend, monkeypatch, *PLAIN) as (settings, asked), closing(Backend(settings)) as served:
        app = rest_app(served)
        app.state.is_same_user = lambda *_: True
        here = TestClient(app, base_url="http://127.0.0.1", client=("127.0.0.1", 50_000))
        reply = here.post("/v1/concepts/mills/answer", json={"question": QUESTION, "memories": 2, "deep": True})

    assert ids
    assert reply.status_code == 200, reply.text
    assert len(asked) == 3
    assert reply.json()["answer"] == "In Ulm."
    assert [one["operator"] for one in reply.json()["steps"]] == ["coordinator", "responder", "discriminator"]
