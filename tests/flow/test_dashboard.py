"""The queries of the dashboard and of the alerts, on what a real run exported; and through Prometheus where it is."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import urllib.parse
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from broker.connection import connect
from broker.settings import Settings
from tests.support.chat_script import Answer
from tests.support.chat_server import serving
from tests.support.deployment import ROOT, Deployment, deployed, wait_for
from tests.unit.deploy.queries import ALERTS, queries, read_by

TASKS = [f"A limerick about lighthouse {number}" for number in range(12)]
REFUSED = "A limerick that no model writes"
# A published retriever needs hundreds of memories, and credibility a memory that was shown again.
NEED_A_LONG_RUN = {"memshare_retriever_accuracy", "memshare_credibility", "memshare_retriever_refused_total"}
PRICES = 'currency = "EUR"\n["openai:scripted"]\nprompt = 2.0\ncompletion = 8.0\n'


def model(body: dict) -> Answer:
    """Grades everything in full, and refuses one task."""
    if REFUSED in body["messages"][-1]["content"]:
        return Answer(refusal="I will not")
    if "response_format" not in body:
        return Answer(text=f"An answer to {body['messages'][-1]['content']}")
    schema = body["response_format"]["json_schema"]["schema"]
    if "low" not in json.dumps(schema):
        return Answer()
    grades = {}
    for name, node in schema["properties"].items():
        node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]] if "$ref" in node else node
        points = node["properties"]["high"]["maximum"]
        grades[name] = {"low": points, "high": points}
    return Answer(text=json.dumps(grades))


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
    with connect(Settings(data=redis_folder).redis) as client:
        client.flushall()
    (folder / "prices.toml").write_text(PRICES)
    settings = Settings(data=redis_folder, model="openai:scripted")
    more = {"MEMSHARE_PRICES": str(folder / "prices.toml"), "MEMSHARE_METRICS_PORT": str(worker_port)}
    with (
        serving(model) as chat,
        deployed(settings, chat, folder, [("poem", "scorer", "memory", "trainer")], **more) as running,
    ):
        memshare(running, "budget", "set", "--agent", "poem", "--tokens", "1000000")
        ids = [running.client.submit("poem", prompt, kind="limerick").id for prompt in (*TASKS, REFUSED)]
        assert [running.settled(task_id, within=90).state for task_id in ids] == ["settled"] * len(TASKS) + ["dead"]
        wait_for(lambda: "memshare_pool_memories{" in exposition(running), 30, "the pool's size to be noted")
        yield running


def memshare(deployment: Deployment, *arguments: str) -> str:
    command = [sys.executable, "-m", "memshare", *arguments]
    environment = deployment.environment | {"MEMSHARE_METRICS_PORT": ""}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout


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
            assert labels <= exported[metric]


@pytest.mark.skipif(shutil.which("prometheus") is None, reason="prometheus is not on the PATH")
def test_prometheus_scrapes_the_exporter_and_answers_every_query(
    deployment: Deployment, worker_port: int, tmp_path: Path
) -> None:
    with exporter(deployment) as exporter_port, prometheus(tmp_path, [exporter_port, worker_port]) as ask:
        wait_for(lambda: len(ask("query", query="memshare_up == 1")["result"]) == 1, 60, "the exporter's first scrape")
        wait_for(lambda: ask("query", query="memshare_worker_concurrency")["result"], 60, "the worker's first scrape")

        empty = {name for name, query in queries().items() if not ask("query", query=query)["result"]}
        rules = [rule for group in ask("rules")["groups"] for rule in group["rules"]]
        wait_for(
            lambda: all(rule["health"] == "ok" for group in ask("rules")["groups"] for rule in group["rules"]),
            30,
            "every rule to be evaluated",
        )

    # A rate needs two scrapes and a quantile some calls between them; what is counted now is there at once.
    instant = {name for name, query in queries().items() if name.startswith("panel") and "[" not in query}
    expected = {name for name in instant if not set(read_by(queries()[name])) & NEED_A_LONG_RUN}
    assert len(expected) >= 8
    assert not expected & empty
    assert len(rules) == len([name for name in queries() if name.startswith("alert")])


@contextmanager
def exporter(deployment: Deployment) -> Iterator[int]:
    port = free_port()
    command = [sys.executable, "-m", "memshare", "metrics", "--port", str(port)]
    with (deployment.logs / "metrics.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=deployment.environment, stdout=log, stderr=log)
    try:
        yield port
    finally:
        process.terminate()
        process.wait(20)


@contextmanager
def prometheus(folder: Path, ports: list[int]) -> Iterator[Any]:
    """A Prometheus with the alerts that scrapes every second; yields its HTTP API."""
    port = free_port()
    config = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(ALERTS)],
        "scrape_configs": [
            {"job_name": "memshare", "static_configs": [{"targets": [f"127.0.0.1:{one}" for one in ports]}]}
        ],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    command = [
        "prometheus",
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)

    def ask(path: str, **parameters: str) -> dict[str, Any]:
        url = f"http://127.0.0.1:{port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urlopen(url, timeout=10) as reply:  # a query that Prometheus refuses raises with its status 400
            return json.load(reply)["data"]

    def ready() -> bool:
        try:
            return bool(ask("targets"))
        except (URLError, ConnectionError):
            return False

    try:
        wait_for(ready, 60, "Prometheus to listen")
        yield ask
    finally:
        process.terminate()
        process.wait(30)
