"""Ending tasks before they are through, on real workers."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import redis
from celery import Celery

from memshare_broker.app import kombu_url
from memshare_broker.delivery.schema import open_key
from memshare_broker.delivery.sweeper import sweep
from memshare_broker.errors import GiveUp
from memshare_broker.settings import Settings
from tests.support import prepared_python
from tests.support.chat_script import Answer
from tests.support.chat_server import serving
from tests.support.deployment import Deployment, deployed, wait_for

QUEUES = ("poem", "memory")
SLOW = "take your time"


@pytest.fixture(scope="module")
def go_on() -> threading.Event:
    """Lets the model answer prompts that are to take their time."""
    return threading.Event()


@pytest.fixture(scope="module")
def deployment(
    redis_folder: Path, tmp_path_factory: pytest.TempPathFactory, go_on: threading.Event
) -> Iterator[Deployment]:
    """Agents and the memory service; nobody grades."""

    def script(body: dict[str, Any]) -> Answer:
        if SLOW in body["messages"][-1]["content"]:
            assert go_on.wait(60)
        return Answer()

    settings = Settings(data=redis_folder, model="openai:scripted")
    with serving(script) as chat, deployed(settings, chat, tmp_path_factory.mktemp("logs"), [QUEUES]) as running:
        yield running


@pytest.fixture
def client_redis(deployment: Deployment) -> redis.Redis:
    return deployment.client._redis


def asked(deployment: Deployment, prompt: str) -> bool:
    return any(body["messages"][-1]["content"] == prompt for body in deployment.chat.requests)


def run_cancel(deployment: Deployment, *words: str) -> subprocess.CompletedProcess[str]:
    return prepared_python.run(["cancel", *words], deployment.environment, 60)


def test_a_task_that_waits_in_its_queue_is_cancelled_and_never_run(
    deployment: Deployment, client_redis: redis.Redis
) -> None:
    client = deployment.client
    task = client.submit("logic", "A riddle that nobody wants")  # no worker serves it yet

    assert client.cancel(task.id) == "cancelled"

    assert client.journey(task.id).state == "cancelled"
    assert client.ledger.open_messages()["logic"] == 0
    with pytest.raises(GiveUp, match="cancelled"):
        task.get(timeout=5)
    client_redis.zadd(open_key("logic"), {task.id: 0}, xx=True)
    assert sweep(client.app, client_redis, lease=0) == []
    deployment.start(["logic"])
    deployment.wait_until_ready()
    assert client.submit("logic", "A riddle that somebody wants").get(timeout=30)["answer"]
    assert not asked(deployment, "A riddle that nobody wants")
    assert client.cancel(task.id) == "ended"


def test_a_task_at_a_later_stage_is_cancelled_and_keeps_its_answer(deployment: Deployment) -> None:
    client = deployment.client
    task = client.submit("poem", "An answer that is not to be graded")
    task.get(timeout=30)

    assert client.cancel(task.id) == "cancelled"

    journey = client.journey(task.id)
    assert (journey.state, bool(journey.answer), journey.ended) == ("cancelled", True, True)
    assert client.ledger.open_messages()["scorer"] == len(client_scores(deployment))


def client_scores(deployment: Deployment) -> list[str]:
    """The journeys that wait to be graded."""
    redis_client = deployment.client._redis
    return list(redis_client.zrange(open_key("scorer"), 0, -1))


def test_a_task_that_runs_goes_on_and_nothing_follows(deployment: Deployment, go_on: threading.Event) -> None:
    client = deployment.client
    task = client.submit("poem", f"A sonnet, {SLOW}")
    wait_for(lambda: asked(deployment, f"A sonnet, {SLOW}"), 60, "the model to be asked")

    assert client.cancel(task.id) == "running"
    go_on.set()

    assert task.get(timeout=60)["answer"], "who waits for it has it"
    assert client.journey(task.id).state == "cancelled"
    to_grade = client.ledger.open_of(client_scores(deployment))
    assert task.id not in {entry.journey for entry in to_grade}


def test_a_task_that_waits_for_its_time_is_cancelled(deployment: Deployment) -> None:
    task_id = send(deployment, "Not now", countdown=3_000)
    wait_for(lambda: deployment.client.ledger.parked.why(task_id), 30, "it to wait beside its queue")

    assert deployment.client.cancel(task_id) == "cancelled"
    assert deployment.client.ledger.parked.why(task_id) is None


def test_a_task_that_was_revoked_has_ended_and_is_not_sent_again(
    deployment: Deployment, client_redis: redis.Redis
) -> None:
    client, task_id = deployment.client, str(uuid4())
    client.app.control.revoke(task_id)
    revoked = f"'{task_id}'"
    wait_for(lambda: revoked in str(client.app.control.inspect(timeout=1).revoked()), 30, "workers to know of it")

    send(deployment, "A poem that was revoked", task_id)

    wait_for(lambda: "cancelled" in client.ledger.journey(task_id), 30, "it to end")
    assert client.journey(task_id).state == "cancelled"
    assert "revoked" in str(client.journey(task_id).cancelled)
    client_redis.zadd(open_key("poem"), {task_id: 0}, xx=True)
    assert task_id not in sweep(client.app, client_redis, lease=0)
    assert not asked(deployment, "A poem that was revoked")


def test_a_task_whose_time_is_over_has_ended(deployment: Deployment) -> None:
    past = datetime.now(UTC) - timedelta(seconds=1)

    task_id = send(deployment, "Too late", expires=past)

    journey = (
        deployment.settled(task_id) if wait_for(lambda: known(deployment, task_id), 30, "it to be known") else None
    )
    assert journey is not None
    assert journey.state == "cancelled"
    assert "expires" in str(journey.cancelled)
    assert not asked(deployment, "Too late")


def test_the_command_says_what_it_could_not_cancel_and_why(deployment: Deployment) -> None:
    open_one, over = send(deployment, "Later", countdown=3_000), send(deployment, "Over", countdown=3_000)
    for task_id in (open_one, over):
        wait_for(lambda task_id=task_id: deployment.client.ledger.parked.why(task_id), 30, "it to wait")
    assert deployment.client.cancel(over) == "cancelled"

    said = run_cancel(deployment, open_one, over, "nobody")

    assert said.returncode == 1
    assert f"Cancelled {open_one}." in said.stdout
    assert f"Not cancelled: {over} had ended already." in said.stderr
    assert "no task has the id nobody" in said.stderr
    told = run_cancel(deployment, over, "--json")
    assert (told.returncode, json.loads(told.stdout)) == (1, [{"id": over, "task_id": over, "outcome": "ended"}])


def known(deployment: Deployment, task_id: str) -> bool:
    return bool(deployment.client.ledger.journey(task_id))


def send(deployment: Deployment, prompt: str, task_id: str | None = None, **options: Any) -> str:
    """Send a task as any Celery client would."""
    app = Celery("somebody-else", broker=kombu_url(deployment.settings.redis), set_as_current=False)
    task_id = task_id or str(uuid4())
    app.send_task("agents.poem", [{"prompt": prompt}], queue="poem", task_id=task_id, **options)
    app.close()
    return task_id
