"""Services that are started while Redis is away wait for it; commands of people do not."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from memshare_broker.connection import connect
from memshare_broker.presence import present
from memshare_broker.redis_server import server_binary
from tests.support import prepared_python
from tests.support.deployment import ROOT, wait_for

WITHIN = 120  # seconds
PASSWORD = "only-for-this-test"
SERVICES = {
    "worker": ("memshare", "worker", "poem"),
    "celery": ("celery", "-A", "memshare_scorer.worker", "worker", "-n", "scorer@test"),
    "ended": ("memshare", "worker", "logic"),
    "serve": ("memshare", "serve", "--port", "0", "--json"),
}


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@pytest.fixture
def environment(tmp_path: Path, port: int) -> dict[str, str]:
    return prepared_python.environment() | {
        "MEMSHARE_DATA": str(tmp_path / "data"),
        "MEMSHARE_MODEL": "offline",
        "MEMSHARE_REDIS_URL": f"redis://:{PASSWORD}@127.0.0.1:{port}/0",
        "MEMSHARE_SECRET": "s" * 40,
        "COLUMNS": "200",
    }


@contextmanager
def started(words: tuple[str, ...], environment: dict[str, str], said: Path) -> Iterator[subprocess.Popen[bytes]]:
    with said.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", *words],
            cwd=ROOT,
            env=environment,
            stdout=file,
            stderr=file,
            stdin=subprocess.DEVNULL,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_services_wait_for_redis_say_so_once_without_its_password_and_end_well_with_ctrl_c(
    environment: dict[str, str], port: int, tmp_path: Path
) -> None:
    said = {name: tmp_path / f"{name}.log" for name in SERVICES}
    told = f"Redis does not answer at redis://127.0.0.1:{port}/0"
    with ExitStack() as running:
        processes = {
            name: running.enter_context(started(words, environment, said[name])) for name, words in SERVICES.items()
        }

        def all_wait() -> bool:
            for name, process in processes.items():
                assert process.poll() is None, said[name].read_text()
            return all(told in log.read_text() for log in said.values())

        wait_for(all_wait, WITHIN, "each to say that it waits")
        assert "Serves" not in said["worker"].read_text()
        del environment["MEMSHARE_SECRET"]
        secretless = started(SERVICES["worker"], environment, tmp_path / "secretless.log")
        assert running.enter_context(secretless).wait(WITHIN) == 2
        assert "set MEMSHARE_SECRET" in (tmp_path / "secretless.log").read_text()
        submit = ("memshare", "submit", "poem", "A limerick")
        assert running.enter_context(started(submit, environment, tmp_path / "submit.log")).wait(WITHIN) == 1
        processes["ended"].send_signal(signal.SIGTERM)
        assert processes["ended"].wait(WITHIN) != 0

        options = ("--port", str(port), "--requirepass", PASSWORD, "--save", "", "--dir", str(tmp_path))
        server = running.enter_context(subprocess.Popen([server_binary(), *options], stdout=subprocess.DEVNULL))
        running.callback(server.terminate)

        with connect(environment["MEMSHARE_REDIS_URL"]) as client:
            wait_for(lambda: len(present(client)) == 2, WITHIN, "both workers to be there")
        wait_for(lambda: '"url"' in said["serve"].read_text(), WITHIN, "the door to be open")
        wait_for(lambda: "\nServes poem as" in said["worker"].read_text(), WITHIN, "it to say what it serves")
        processes["worker"].send_signal(signal.SIGINT)
        assert processes["worker"].wait(WITHIN) == 0

    for log in said.values():
        assert log.read_text().count(told) == 1
        assert PASSWORD not in log.read_text()


def test_services_that_log_in_json_say_nothing_in_plain_text(
    environment: dict[str, str], port: int, tmp_path: Path
) -> None:
    environment |= {"MEMSHARE_LOG_FORMAT": "json"}
    said = {name: tmp_path / f"{name}.log" for name in ("worker", "celery", "serve")}
    with ExitStack() as running:
        processes = {name: running.enter_context(started(SERVICES[name], environment, said[name])) for name in said}
        for log in said.values():
            wait_for(lambda log=log: "does not answer" in log.read_text(), WITHIN, "each to say that it waits")
        options = ("--port", str(port), "--requirepass", "another", "--save", "", "--dir", str(tmp_path))
        server = running.enter_context(subprocess.Popen([server_binary(), *options], stdout=subprocess.DEVNULL))
        running.callback(server.terminate)
        assert {process.wait(WITHIN) for process in processes.values()} == {1}

    for log in said.values():
        lines = [json.loads(line) for line in log.read_text().splitlines()]  # raises where one is plain text
        assert "password" in lines[-1]["message"]
