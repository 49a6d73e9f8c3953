"""The Redis of compose and of the chart, started by their own commands: it takes signals, and asks for its password."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import redis
import yaml

from memshare_broker import redis_server
from tests.unit.deploy.chart import CHART, container, of_kind
from tests.unit.deploy.test_compose import compose

PASSWORD = "a-password_1"
ENDS_WITHIN = 15  # seconds; a shell that passes no signal on never ends, and is killed after a minute


def of_compose() -> str:
    written = compose()["services"]["redis"]["command"][2]
    return re.sub(r"\$\{\w+:-(\w+)\}", r"\1", written).replace("$$", "$")  # as compose reads it


def of_chart() -> str:
    return str(container(of_kind({}, "StatefulSet")["redis"])["args"][0])


@pytest.mark.parametrize("command", [of_compose, of_chart])
def test_redis_ends_when_it_is_told_to(command: Callable[[], str], tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "valkey-server").symlink_to(redis_server.server_binary())
    socket = tmp_path / "s"
    written = command().replace("--dir /data", f"--dir {tmp_path} --port 0 --unixsocket {socket}")
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    environment = {"PATH": path, "REDISCLI_AUTH": PASSWORD}
    server = subprocess.Popen(["sh", "-c", written], env=environment, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 30
        while not socket.exists():
            assert server.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        with pytest.raises(redis.AuthenticationError):
            redis.Redis(unix_socket_path=str(socket)).ping()
        assert redis.Redis(unix_socket_path=str(socket), password=PASSWORD).ping()

        server.terminate()

        assert server.wait(ENDS_WITHIN) == 0
    finally:
        server.kill()
        server.wait()


def test_a_new_version_of_the_chart_restarts_neither_redis_nor_qdrant(tmp_path: Path) -> None:
    newer = tmp_path / "memshare"
    shutil.copytree(CHART, newer)
    about = yaml.safe_load((newer / "Chart.yaml").read_text()) | {"version": "99.0.0", "appVersion": "99.0.0"}
    (newer / "Chart.yaml").write_text(yaml.safe_dump(about))

    for name in ("redis", "qdrant"):
        now, then = (of_kind({}, "StatefulSet", chart)[name]["spec"]["template"] for chart in (CHART, newer))
        assert now == then
