"""What an agent's page, and REST, say of its file."""

from __future__ import annotations

from pathlib import Path

import redis
from fastapi.testclient import TestClient

from memshare.operations.backend import Backend
from memshare_broker.presence import AgentCard, Presence, announce
from tests.unit.memshare.doors.conftest import Tokened
from tests.unit.memshare.doors.pages.journey_records import AGENT, text_of


def test_an_agent_is_told_as_its_file_says_now_beside_its_rubric(
    here: TestClient, backend: Backend, tmp_path: Path
) -> None:
    bundled = here.get("/v1/agents/logic").json()
    (tmp_path / "logic.toml").write_text(AGENT + "claims = false\n")

    backend.settings = backend.settings.model_copy(update={"agents_dir": tmp_path})
    told = here.get("/v1/agents/logic").json()
    page = text_of(here.get("/agents/logic").text)

    assert told["file"]["instructions"] == "Be brief." != bundled["file"]["instructions"]
    assert told["file"]["kinds"] == {"riddle": {"instructions": "Rhyme.", "recall": None, "claims": False}}
    assert told["file"]["limits"] == {}
    assert "as many as help (learnt from grades), found by meaning" in page
    assert "a task without a kind Be brief." in page
    assert "riddle its answers are made up Rhyme." in page
    assert here.get("/v1/rubrics/logic").json()["criteria"][0]["description"] in page


def test_the_limits_of_an_engine_are_told(here: TestClient) -> None:
    file = here.get("/v1/agents/reasoning").json()["file"]

    assert (file["engine"], file["limits"]["calls"]) == ("reasoning", 60)
    assert "Calls 60" in text_of(here.get("/agents/reasoning").text)


def test_the_file_of_an_agent_elsewhere_is_said_to_be_elsewhere(here: TestClient, redis_client: redis.Redis) -> None:
    far = AgentCard(name="far", kinds=("ode",), pool="logic", model="openai:far", rubric="far")
    announce(redis_client, Presence(node="far@elsewhere", pid=1, incarnation="1", queues=("far",), agents=(far,)))

    told = here.get("/v1/agents/far").json()
    page = text_of(here.get("/agents/far").text)

    assert (told["model"], told["workers"], told["file"]) == ("openai:far", 1, None)
    assert "MEMSHARE_AGENTS_DIR" in page
    assert "The rubric far is not on the machine" in page


def test_an_agent_of_another_pool_is_not_there(tokened: Tokened) -> None:
    ada = tokened("ada", "admin")

    assert ada.get("/v1/agents/poem").status_code == 404
    assert ada.get("/v1/agents/logic").status_code == 200
