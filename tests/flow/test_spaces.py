"""A memory of ada, over real workers: bob is shown it once it helped and was approved, until it is taken back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from memshare.client.journey import Journey
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller
from memshare.operations.decisions import decide_promotion, promotions
from memshare_broker.settings import Settings
from tests.support.chat_script import Answer
from tests.support.chat_server import serving
from tests.support.deployment import Deployment, deployed, empty

AGENT = """description = "Knows where things are."
instructions = "Say where the thing is."
pools = ["mine/{submitter}", "team"]
rubric = "poem"
memories = 3

[promotion]
helped = 2

[kinds.limerick]
instructions = "In one sentence."
"""
SECRET = "The red lamp stands in box forty seven, behind the green door."
IGNORANCE = "I do not know."
ADA, BOB = (Caller(name, frozenset({"recall", "submit", "curate"}), frozenset({"team"})) for name in ("ada", "bob"))


def model(body: dict[str, Any]) -> Answer:
    """Knows it of the very first question, and else copies what it is shown; grades everything well."""
    if "response_format" in body:
        return Answer()
    shown = [one["content"] for one in body["messages"] if one["role"] == "assistant"]
    knows = "Please tell me" in body["messages"][-1]["content"] or any(SECRET in one for one in shown)
    return Answer(text=SECRET if knows else IGNORANCE)


@pytest.fixture
def deployment(redis_folder: Path, tmp_path: Path) -> Iterator[Deployment]:
    agents = tmp_path / "agents"
    agents.mkdir()
    (agents / "keeper.toml").write_text(AGENT)
    settings = Settings(data=redis_folder, model="openai:scripted", agents_dir=agents)
    empty(redis_folder)
    more = {"MEMSHARE_LEARN": "false", "MEMSHARE_AGENTS_DIR": str(agents)}
    with (
        serving(model) as chat,
        deployed(settings, chat, tmp_path, [["keeper", "scorer", "memory"]], **more) as running,
    ):
        yield running


def asked(deployment: Deployment, by: str, prompt: str, **more: Any) -> Journey:
    body = {"prompt": prompt, "kind": "limerick", "submitter": by, **more}
    return deployment.settled(deployment.client.submit_task("keeper", body).id)


def shown_to_bob(deployment: Deployment) -> tuple[str | None, set[UUID]]:
    journey = asked(deployment, "bob", "Where does the red lamp of the harbour stand?", remember=False)
    return journey.answer, {one.id for one in journey.memories}


def test_what_ada_learnt_is_shown_to_bob_from_its_approval_until_it_is_taken_back(deployment: Deployment) -> None:
    with closing(Backend(deployment.settings)) as backend:
        first = asked(deployment, "ada", "Please tell me where the red lamp of the harbour stands")
        assert first.memory_id is not None
        assert deployment.client.memories.get(first.memory_id).pool == "mine/ada"
        assert shown_to_bob(deployment) == (IGNORANCE, set())

        later = list[str]()
        for number in ("one", "two"):
            told = asked(
                deployment, "ada", f"Number {number}: the red lamp of the harbour, where is it?", not_shown=later
            )
            assert told.answer == SECRET
            assert promotions(backend, BOB) == []
            later.append(str(told.memory_id))

        [proposed] = promotions(backend, ADA)
        assert (proposed.memory.memory.id, proposed.proposal.to, proposed.proposal.helped) == (
            first.memory_id,
            "team",
            2,
        )
        assert shown_to_bob(deployment) == (IGNORANCE, set())

        became = decide_promotion(backend, ADA, first.memory_id).proposal.became

        assert shown_to_bob(deployment) == (SECRET, {became})
        copied = asked(deployment, "bob", "And the red lamp of the harbour, where would that be?")
        assert copied.memory_id is not None

        back = decide_promotion(backend, ADA, first.memory_id, "take back")

        assert set(back.forgotten) == {became, copied.memory_id}
        assert shown_to_bob(deployment) == (IGNORANCE, set())
        assert asked(deployment, "ada", "Once more: where is the red lamp of the harbour?").answer == SECRET
        counts = deployment.client.memories.stats().by_pool
        assert "team" not in counts
        assert json.dumps(counts).count("mine/") == 1
