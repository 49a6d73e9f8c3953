"""`memshare metrics`, as it is run."""

import json
import socket
import subprocess
import sys
from urllib.request import urlopen

import pytest

from memshare_broker.settings import Settings
from tests.support.deployment import ROOT, ended


@pytest.fixture
def command(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("MEMSHARE_DATA", str(settings.data))
    return [sys.executable, "-m", "memshare", "metrics"]


def test_a_port_that_is_taken_is_named(command: list[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = subprocess.run([*command, "--port", port], cwd=ROOT, capture_output=True, text=True, timeout=60)

    assert done.returncode == 2
    assert f"127.0.0.1:{port} cannot be listened on" in done.stderr.replace("\n", " ")


def test_it_serves_until_it_is_ended(command: list[str]) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen([*command, "--port", str(port), "--json"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        ready = json.loads(server.stdout.readline())
        text = urlopen(ready["url"], timeout=10).read().decode()
    finally:
        server.terminate()
        ended(server)
        server.communicate()

    assert "memshare_up 1.0" in text


@pytest.mark.usefixtures("redis_client")
def test_once_it_prints_them_as_json(command: list[str]) -> None:
    done = subprocess.run([*command, "--once", "--json"], cwd=ROOT, capture_output=True, text=True, check=True)

    assert json.loads(done.stdout) == [{"name": "memshare_up", "labels": {}, "value": 1}]
