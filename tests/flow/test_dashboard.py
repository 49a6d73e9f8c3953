"""The queries of the dashboard and of the alerts, on what a real run exported."""

from __future__ import annotations

import json
import socket
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from memshare_broker.settings import Settings
from tests.support import prepared_python
from tests.support.chat_script import Answer
from tests.support.chat_server import serving
from tests.support.deployment import Deployment, deployed, empty, wait_for
from tests.support.grades import ranges
from tests.unit.deploy.queries import TARGET, queries, read_by

TASKS = [f"A limerick about lighthouse {number}" for number in range(12)]
REFUSED = "A limerick that no model writes"
# A published retriever needs hundreds of memories, credibility a memory that was shown again, a lesson that teaches
# candidates of which some help and some mislead, and the share of a Redis's memory a bound.
NEED_A_LONG_RUN = {
    "memshare_retriever_accuracy",
    "memshare_credibility",
    "memshare_retriever_refused_total",
    "memshare_last_lesson_timestamp_seconds",
    "memshare_redis_memory_used_ratio",
}
PRICES = 'currency = "EUR"\n["openai:scripted"]\nprompt = 2.0\ncompletion = 8.0\n'


def model(body: dict) -> Answer:
    """Grades everything in full, and refuses one task."""
    if REFUSED in body["messages"][-1]["content"]:
        return Answer(refusal="I will not")
    if "response_format" not in body:
        return Answer(text=f"An answer to {body['messages'][-1]['content']}")
    grades = ranges(body, 1.0)
    return Answer(text=json.dumps(grades)) if grades else Answer()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def worker_port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def deployment(worker_port: int, redis_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A run with answers, grades, memories, a dead letter and a cap."""
    folder = tmp_path_factory.mktemp("dashboard")
    empty(redis_folder)
    (folder / "prices.toml").write_text(PRICES)
    settings = Settings(data=redis_folder, model="openai:scripted")
    more = {"MEMSHARE_PRICES": str(folder / "prices.toml"), "MEMSHARE_METRICS_PORT": str(worker_port)}
    with (
        serving(model) as chat,
        deployed(settings, chat, folder, [("poem", "scorer", "memory", "trainer")], **more) as running,
    ):
        memshare(running, "budget", "set", "--agent", "poem", "--tokens", "1000000")
        for prompts, end in ((TASKS[:6], "settled"), (TASKS[6:], "settled"), ([REFUSED], "dead")):  # later ones recall
            ids = [running.client.submit("poem", prompt, kind="limerick").id for prompt in prompts]
            assert {running.settled(task_id, within=90).state for task_id in ids} == {end}
        wait_for(lambda: "memshare_pool_memories{" in exposition(running), 30, "the pool's size to be noted")
        wait_for(lambda: "memshare_retriever_version{" in exposition(running), 60, "the first lesson")
        wait_for(lambda: "memshare_lessons_total{" in exposition(running), 60, "the trainer to count it")
        yield running


def memshare(deployment: Deployment, *arguments: str) -> str:
    done = prepared_python.run(arguments, deployment.environment | {"MEMSHARE_METRICS_PORT": ""}, 120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def exposition(deployment: Deployment) -> str:
    return memshare(deployment, "metrics", "--once")


@pytest.fixture(scope="module")
def exported(deployment: Deployment, worker_port: int) -> dict[str, set[str]]:
    """The labels of every sample that the exporter and a worker export, by its name."""
    with urlopen(f"http://127.0.0.1:{worker_port}/metrics", timeout=10) as reply:
        worker = reply.read().decode()
    found: defaultdict[str, set[str]] = defaultdict(set)
    for text in (exposition(deployment), worker):
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                found[sample.name] |= set(sample.labels)
    return dict(found)


@pytest.mark.parametrize("name", queries())
def test_a_real_run_exports_what_a_query_reads(name: str, exported: dict[str, set[str]]) -> None:
    for metric, labels in read_by(queries()[name]).items():
        if metric not in NEED_A_LONG_RUN:
            assert metric in exported
            assert labels <= exported[metric] | TARGET
