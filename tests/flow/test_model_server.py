"""A model's server that is away, slow, or never says anything of use, behind real workers."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from memshare.client.client import Client
from memshare_broker.settings import Settings
from memshare_memory.curate.requests import NewMemory
from tests.support.chat_script import Answer
from tests.support.chat_server import serving
from tests.support.deployment import Deployment, deployed, patient, wait_for

QUEUES = ("poem", "scorer", "memory")
AGENT = """\
description = "Names capitals."
instructions = "Name the capital."
pool = "capitals"
rubric = "capitals"
"""
RUBRIC = """\
domain = "Capitals."
threshold = 50

[[criteria]]
name = "right"
points = 100
description = "The answer has a city."
check = "memshare_scorer.checks.texts:contains"
options = {texts = ["city"]}

[approval]
by = "the tests"
on = 2026-11-26
version = "%s"
"""


@pytest.fixture
def settings(redis_folder: Path) -> Settings:
    return Settings(data=redis_folder, model="openai:scripted")


def is_structured(body: dict[str, Any]) -> bool:
    return "response_format" in body


@pytest.mark.usefixtures("redis_client")
def test_while_a_models_server_is_away_tasks_wait_and_say_why_and_none_is_given_up(
    settings: Settings, tmp_path: Path
) -> None:
    with serving() as chat, deployed(settings, chat, tmp_path, [QUEUES], known=False, MEMSHARE_TRIES="2") as running:
        port = chat.server_port
        running.client.submit("poem", "before").get(timeout=patient(30))
        chat.end()
        tasks = [running.client.submit("poem", f"meanwhile {number}") for number in range(10)]

        waits = wait_for(lambda: running.client.journey(tasks[0].id).waits, 30, "a task to wait")
        wait_for(lambda: running.client.ledger.failed().get("model away", 0) > 20, 30, "each to be tried some times")

        assert "could not be reached" in waits.why
        with serving(port=port):
            ended = [running.settled(task.id, within=60) for task in tasks]
            assert {one.outcome for one in ended} <= {"stored", "duplicate"}
        assert running.client.dead_letters.all() == []


@pytest.mark.usefixtures("redis_client")
@pytest.mark.parametrize("headers", [{}, {"Retry-After": "2"}])
def test_a_rate_limit_is_waited_out_and_uses_up_no_try(
    headers: dict[str, str], settings: Settings, tmp_path: Path
) -> None:
    limited = Answer(status=429, text="Slow down.", headers=headers)
    with (
        serving(lambda _: limited) as chat,
        deployed(settings, chat, tmp_path, [QUEUES], known=False, MEMSHARE_TRIES="2") as running,
    ):
        tasks = [running.client.submit("poem", f"A poem of lamp {number}") for number in range(5)]
        waits = wait_for(lambda: running.client.journey(tasks[0].id).waits, 30, "a task to wait")
        began = time.monotonic()
        wait_for(lambda: len(chat.requests) > 10, 60, "some of them to be tried again")
        assert waits.why.startswith("A rate limit holds it, and no try is counted: openai:scripted answered 429")
        tried, asked = running.client.ledger.failed()["rate limit"], len(chat.requests)
        assert tried <= asked, "a task that only waits has not failed"
        within = time.monotonic() - began
        assert asked <= 6 + within or not headers, "one call is told how long, and the other tasks wait for as long"

        chat.script = lambda _: Answer()

        assert {running.settled(task.id, within=60).outcome for task in tasks} <= {"stored", "duplicate"}
        assert running.client.dead_letters.all() == []


@pytest.mark.usefixtures("redis_client")
def test_a_model_that_never_fits_is_paid_for_only_until_that_is_known(settings: Settings, tmp_path: Path) -> None:
    def script(body: dict[str, Any]) -> Answer:
        return Answer(text="I would say 9 of 10.") if is_structured(body) else Answer()

    with (
        serving(script) as chat,
        deployed(settings, chat, tmp_path, [QUEUES], known=False, MEMSHARE_CONCURRENCY="32") as running,
    ):
        tasks = [running.client.submit("poem", f"A poem of the number {number}") for number in range(400)]
        for task in tasks:
            task.get(timeout=patient(120))
        wait_for(lambda: len(running.client.ledger.parked.all()) > 350, 60, "the answers to wait for their grades")

        asked = sum(map(is_structured, chat.requests))
        assert 10 <= asked <= 20
        (letters,) = {letter.reason for letter in running.client.dead_letters.all()}
        assert letters == "invalid reply"
        why = {one.why for one in running.client.ledger.parked.all() if one.hold.startswith("misfits ")}
        assert "of no use for grades" in why.pop()
        journeys = running.client.journeys([task.id for task in tasks[-20:]])
        assert any(one.state == "answered" and one.waits and "of no use" in one.waits.why for one in journeys)


def test_what_a_program_grades_waits_for_no_model_though_comparisons_take_for_ever(
    redis_folder: Path, tmp_path: Path
) -> None:
    settings = Settings(data=redis_folder, model="openai:scripted", agents_dir=_agents(tmp_path / "agents"))

    def script(body: dict[str, Any]) -> Answer:
        return Answer(text="{}", delay=60) if is_structured(body) else Answer(text="It is a city.")

    queues = ("capitals", "scorer", "memory")
    more = {"MEMSHARE_AGENTS_DIR": str(settings.agents_dir), "MEMSHARE_MODEL_TIMEOUT": "5", "MEMSHARE_LEARN": "false"}
    with (
        serving(script) as chat,
        deployed(settings, chat, tmp_path, [queues], known=False, MEMSHARE_CONCURRENCY="4", **more) as running,
    ):
        _bring_in_rivals(running.client, 40)
        wait_for(lambda: sum(map(is_structured, chat.requests)) >= 1, 60, "a comparison to be under way")
        began = time.monotonic()
        tasks = [running.client.submit("capitals", f"And of country {number}?") for number in range(12)]
        graded = [running.settled(task.id, within=40) for task in tasks]
        took = time.monotonic() - began

        assert all(one.score is not None and one.score.accepted for one in graded)
        assert took < patient(30)
        assert _open_comparisons(running) > 0, "else nothing was in their way"


def _agents(folder: Path) -> Path:
    from memshare_scorer.rubric import read_rubric

    folder.mkdir()
    (folder / "capitals.toml").write_text(AGENT)
    file = folder / "capitals.rubric.toml"
    file.write_text(RUBRIC % "none yet")
    version = read_rubric(file).version
    file.write_text(RUBRIC % version)
    return folder


def _bring_in_rivals(client: Client, number: int) -> None:
    """Memories of which each two answer the same question, and not alike."""
    client.memories.add(
        [
            NewMemory(pool="capitals", new_pool=True, prompt=f"What is the capital of country {of}?", answer=answer)
            for of in range(number)
            for answer in (f"It is the city of A{of}.", f"It is B{of}, and nothing else.")
        ]
    )


def _open_comparisons(running: Deployment) -> int:
    ledger = running.client.ledger
    return sum(one.hold.startswith(("server ", "batch ", "scorer")) for one in ledger.parked.all()) + (
        ledger.open_messages().get("scorer", 0)
    )
