"""What Flower shows of real tasks: every stage by its name, shortened, without secrets, and nothing to strangers."""

import base64
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest
from celery import Celery

from memshare_broker.app import kombu_url
from memshare_broker.observe.safe_text import REPR_LENGTH
from memshare_broker.settings import Settings
from tests.flow.test_metrics import grade
from tests.support.chat_script import Answer, Script
from tests.support.chat_server import serving
from tests.support.deployment import ROOT, Deployment, deployed, empty, ended, wait_for

QUEUES = ("poem", "logic", "plan", "scorer", "memory")
KEY = "sk-proj-abcdefgh12345678"
PROMPT = f"A limerick. My key is {KEY}, password=hunter2. " + "Make it rhyme. " * 100
LOGIN = "me:let-me-in"


def script() -> Script:
    """Answers well, but for the task that stumbles: the first time it is told to come back."""
    busy = iter([Answer(status=429, headers={"retry-after": "1"})])

    def answer(body: dict) -> Answer:
        if "response_format" in body:
            return Answer(text=grade(body, 90))
        asked = body["messages"][-1]["content"]
        well = Answer(text=f"{KEY} is a fine key", delay=20 if "slowly" in asked else 0)
        return next(busy, well) if "Stumble" in asked else well

    return answer


@pytest.fixture
def deployment(redis_folder: Path, tmp_path: Path) -> Iterator[Deployment]:
    empty(redis_folder)
    settings = Settings(data=redis_folder, model="openai:scripted")
    with serving(script()) as chat, deployed(settings, chat, tmp_path, [QUEUES], MEMSHARE_LOG_FORMAT="json") as running:
        yield running


@pytest.fixture
def flower(deployment: Deployment, tmp_path: Path) -> Iterator[str]:
    """The address of a Flower that asks for a password."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "celery", "-A", "memshare.operate.flower", "flower", f"--port={port}"]
    with (tmp_path / "flower.log").open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=deployment.environment | {"FLOWER_BASIC_AUTH": LOGIN},
            stdout=log,
            stderr=log,
        )
        try:
            wait_for(lambda: answers(f"http://127.0.0.1:{port}/healthcheck"), 60, "Flower to be there")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.send_signal(signal.SIGTERM)
            ended(process)


def answers(url: str) -> bool:
    try:
        return urlopen(url, timeout=5).status == 200
    except URLError:
        return False


def inspect(deployment: Deployment) -> dict[str, list[dict]]:
    """What a worker tells of the tasks that it runs now."""
    return deployment.client.app.control.inspect(timeout=5).active() or {}


def read(url: str, sent: bytes | None = None) -> dict:
    login = base64.b64encode(LOGIN.encode()).decode()
    return json.load(urlopen(Request(url, sent, headers={"Authorization": f"Basic {login}"}), timeout=10))


def test_flower_shows_each_stage_by_name_and_neither_secrets_nor_vectors(deployment: Deployment, flower: str) -> None:
    url = kombu_url(deployment.settings.redis)
    outsider = Celery("somebody-else", broker=url, backend=url, set_as_current=False)

    def recall() -> Any:
        asked = {"pool": "poem", "text": PROMPT, "k": 3}
        waiting = outsider.send_task("memory_service.recall", [asked], queue="memory")
        found = waiting.get(timeout=30)
        waiting.forget()
        return found

    # Flower hears what is said from the moment at which it listens, which is after it answers.
    wait_for(lambda: recall() and read(f"{flower}/api/tasks"), 60, "Flower to hear the worker")
    plain = outsider.send_task("agents.poem", [{"prompt": PROMPT, "kind": "limerick"}], queue="poem")
    ours = deployment.client.submit("poem", PROMPT, kind="limerick")
    stumbled = deployment.client.submit("logic", f"Stumble once. {PROMPT}")
    for task in (ours, stumbled, plain):  # nothing is known of a plain one before a worker has begun it
        deployment.settled(task.id)
    found = recall()
    assert found["found"][0]["memory"]["prompt"] == PROMPT
    deployment.client.submit("plan", f"Slowly, slowly. {PROMPT}")

    def shown() -> dict[str, dict]:
        return {id_: task for id_, task in read(f"{flower}/api/tasks").items() if task["name"]}

    wanted = {
        "agents.poem",
        "agents.logic",
        "scorer.score",
        "memory_service.settle",
        "memory_service.recall",
        "agents.plan",
    }
    wait_for(lambda: {task["name"] for task in shown().values()} >= wanted, 30, "Flower to have seen every stage")
    wait_for(lambda: "agents.plan" in json.dumps(inspect(deployment)), 10, "the slow task to be started")
    active = inspect(deployment)

    tasks = shown()
    assert {plain.id, ours.id, stumbled.id} <= tasks.keys()
    assert tasks[stumbled.id]["retried"], "when it was set aside to be tried again"
    for task in tasks.values():
        for text in (task["args"], task["kwargs"], task["result"]):
            assert len(text or "") <= REPR_LENGTH, task
    (running,) = [task for of_worker in active.values() for task in of_worker]
    assert "Slowly" in running["args"]
    for text in (json.dumps(tasks), json.dumps(active), deployment.log(QUEUES)):
        assert KEY not in text
        assert "sk-proj" not in text
        assert "hunter2" not in text
        assert "embedding" not in text
        assert "Make it rhyme. " * 10 not in text
    assert "A limerick. My key is …, password=…" in tasks[ours.id]["args"]
    assert read(f"{flower}/api/task/info/{ours.id}")["uuid"] == ours.id

    with pytest.raises(HTTPError, match="401"):
        urlopen(f"{flower}/api/tasks", timeout=10)
    with pytest.raises(HTTPError, match="401"):
        urlopen(f"{flower}/tasks", timeout=10)

    # Whoever has the password looks, and changes nothing.
    before = deployment.client.ledger.done()
    for path in (
        "task/send-task/agents.poem",
        "task/async-apply/agents.poem",
        f"task/revoke/{ours.id}",
        "worker/shutdown/poem@test",
        "worker/pool/grow/poem@test",
        "worker/queue/cancel-consumer/poem@test",
    ):
        with pytest.raises(HTTPError, match="403"):
            read(f"{flower}/api/{path}", json.dumps({"args": [{"prompt": "x"}]}).encode())
    assert deployment.client.ledger.done() == before

    lines = [json.loads(line) for line in deployment.log(QUEUES).splitlines() if line.startswith("{")]
    decisions = {line["message"].split()[0]: line for line in lines if line.get("task_id") == ours.id}
    assert decisions.keys() >= {"Answered", "Graded", "Settled:"}
    assert decisions["Graded"]["agent"] == "poem"
    assert decisions["Graded"]["level"] == "info"
    assert "memory_id" in decisions["Settled:"]
    assert any(line["logger"].startswith("celery.") for line in lines), "Celery's own lines are JSON, too"
    deployment.processes[QUEUES].kill()  # or it would wait for the slow task
    outsider.close()
