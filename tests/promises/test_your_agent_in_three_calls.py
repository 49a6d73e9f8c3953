"""Agents of LangGraph and the OpenAI Agents SDK, an MCP client and curl on one pool, beside memshare's own agents."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import redis

from memshare import Forbidden, Memory, NotFound, NoToken
from memshare.operations.caller import Tokens
from memshare_broker.connection import connect
from memshare_broker.settings import Settings
from memshare_broker.wire.lessons import Evidence
from tests.flow.test_metrics import grade
from tests.support.chat_script import Answer
from tests.support.chat_server import serving
from tests.support.deployment import Deployment, deployed, empty, ended, wait_for
from tests.support.outsiders import Outsider, Shared, curl, langgraph_agent, mcp_client, openai_agent

QUEUES = ("logic", "scorer", "memory")
BAD = "I could not say."
NAMES = ("langgraph", "openai", "mcp", "curl")


def answer_to(task: str) -> str:
    return BAD + task[-8:] if "badly" in task else f"It is what {task.split()[-1]} keeps by the sea."


def said(body: dict[str, Any]) -> Answer:
    """Grades what is bad as such, and answers tasks."""
    text = json.dumps(body["messages"])
    if "response_format" in body:
        return Answer(text=grade(body, 20 if BAD in text else 90))
    return Answer(text=answer_to(body["messages"][-1]["content"]))


@pytest.fixture(scope="module")
def deployment(redis_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    empty(redis_folder)
    settings = Settings(data=redis_folder, model="openai:scripted")
    logs = tmp_path_factory.mktemp("logs")
    with serving(said) as chat, deployed(settings, chat, logs, [QUEUES]) as running:
        yield running


@pytest.fixture(scope="module")
def url(deployment: Deployment) -> Iterator[str]:
    """`memshare serve`, as a process of its own."""
    program = [sys.executable, "-m", "memshare", "serve", "--port", "0", "--json"]
    log = deployment.logs / "serve.log"
    with log.open("wb") as file:
        server = subprocess.Popen(program, env=deployment.environment, stdout=subprocess.PIPE, stderr=file)
    assert server.stdout is not None
    with server.stdout:
        line = server.stdout.readline()
        assert line, log.read_text()
        yield json.loads(line)["url"]
        server.terminate()
        ended(server)


@pytest.fixture(scope="module")
def tokens(deployment: Deployment) -> dict[str, str]:
    with connect(deployment.settings.redis) as client:
        known = Tokens(client)
        made = {name: known.create(name, ("recall", "offer"), ("logic",)) for name in NAMES}
        return made | {"stranger": known.create("stranger", ("recall", "offer"), ("poem",))}


@pytest.fixture(scope="module")
def everybody(deployment: Deployment, url: str, tokens: dict[str, str]) -> Iterator[dict[str, Outsider]]:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")

    def own(task: str) -> Shared:
        submission = deployment.client.submit("logic", task, kind="riddle", memories=10)
        shown = [UUID(one["id"]) for one in submission.get(timeout=30)["memories"]]
        return Shared({one.memory.answer for one in deployment.client.memories.judge(shown)}, submission.id)

    with Memory(url, tokens["langgraph"]) as first, Memory(url, tokens["openai"]) as second:
        yield {
            "langgraph": langgraph_agent(first, deployment.chat.url),
            "openai": openai_agent(second, deployment.chat.url),
            "mcp": mcp_client(url, tokens["mcp"], answer_to),
            "curl": curl(url, tokens["curl"], answer_to),
            "own": own,
        }


def test_everybody_sees_the_good_answers_of_all_others_and_no_bad_one(
    deployment: Deployment, url: str, tokens: dict[str, str], everybody: dict[str, Outsider]
) -> None:
    answers: dict[str, str] = {}
    for name, work in everybody.items():
        bad = work(f"Solve badly this riddle of the lamp of {name}")
        assert deployment.settled(bad.journey).outcome == "rejected"
        good = work(f"Solve this riddle of the lamp of {name}")
        journey = deployment.settled(good.journey)
        assert journey.outcome == "stored", journey
        answers[name] = journey.answer or ""

    for name, work in everybody.items():
        last = work(f"Solve the new riddle of the lamps of {name}")
        assert last.shown == set(answers.values()), name
        journey = deployment.settled(last.journey)
        assert (journey.outcome, len(journey.memories)) == ("stored", len(answers)), name
        submitter = "anonymous" if name == "own" else name
        assert (journey.submitter, journey.task_id) == (submitter, last.journey)
        with Memory(url, tokens.get(name, tokens["curl"])) as memory:
            if name == "own":  # a journey is its submitter's
                with pytest.raises(NotFound):
                    memory.journeys.get(last.journey)
            else:
                assert memory.journeys.get(last.journey).memory_id == journey.memory_id
        answers[f"{name} again"] = journey.answer or ""


def said_by_feedback(client: redis.Redis, memory: UUID) -> list[Evidence]:
    """What waits for the trainer."""
    texts = [text for key in client.scan_iter("memshare:retriever:logic:*:waiting") for text in client.hvals(key)]
    said = [Evidence.model_validate_json(text) for text in texts]
    return [one for one in said if one.source == "feedback" and one.memory.id == memory]


def test_an_outcome_from_outside_counts_once(url: str, tokens: dict[str, str], deployment: Deployment) -> None:
    with Memory(url, tokens["curl"]) as memory:
        with memory.task("logic", "Solve this riddle of the last lamp", k=1) as task:
            task.answer = answer_to("the last lamp")
        deployment.settled(task.journey or "")
        [shown] = task.memories

        told = task.reward(0.0)
        again = task.reward(1.0)

        assert told is not None
        assert again is not None
        assert (told.taken, again.known) == ((shown.id,), (shown.id,))
        with connect(deployment.settings.redis) as client:
            told_of = wait_for(lambda: said_by_feedback(client, shown.id), 20, "the evidence")
        assert [one.helped for one in told_of] == [0.0]


def test_a_token_of_another_pool_is_told_nothing_of_this_one(
    url: str, tokens: dict[str, str], everybody: dict[str, Outsider]
) -> None:
    shared = everybody["curl"]("Solve the riddle of the stranger's lamp")

    with Memory(url, tokens["stranger"]) as stranger:
        for ask in (
            lambda: stranger.recall("a lamp", agent="logic"),
            lambda: stranger.recall("a lamp", pool="logic"),
            lambda: stranger.pairs("a lamp", "x", agent="logic"),
            lambda: stranger.journeys.get(shared.journey),
            lambda: stranger.memories.search("a lamp", pool="logic"),
        ):
            with pytest.raises(NotFound):
                ask()
        assert [pool.name for pool in stranger.pools()] == ["poem"]
        with pytest.raises(Forbidden):
            stranger.tasks("poem", "x")
    with Memory(url) as nobody, pytest.raises(NoToken):
        nobody.stats()
