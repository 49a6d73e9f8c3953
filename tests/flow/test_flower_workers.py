"""Flower, as it is started for users: it knows workers that came later than it, and logs in JSON where told to."""

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from memshare_broker.settings import Settings
from tests.support.chat_script import well
from tests.support.chat_server import serving
from tests.support.deployment import deployed, empty, ended, wait_for


def read(url: str) -> dict[str, dict[str, object]] | None:
    try:
        return dict(json.load(urlopen(url, timeout=10)))
    except URLError:
        return None


def test_a_worker_that_comes_later_is_listed_without_being_asked_for_and_every_line_of_the_log_is_json(
    redis_folder: Path, tmp_path: Path
) -> None:
    empty(redis_folder)
    settings = Settings(data=redis_folder, model="openai:scripted")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "celery", "-A", "memshare.operate.flower", "flower", f"--port={port}"]
    environment = {"MEMSHARE_DATA": str(redis_folder), "MEMSHARE_LOG_FORMAT": "json", "FLOWER_UNAUTHENTICATED_API": "1"}
    log = tmp_path / "flower.log"
    with log.open("wb") as file:
        flower = subprocess.Popen([*command, "--address=127.0.0.1"], env=environment, stdout=file, stderr=file)
    workers = f"http://127.0.0.1:{port}/api/workers"
    try:
        wait_for(lambda: read(workers) == {}, 60, "Flower to answer, without workers")

        with serving(well) as chat, deployed(settings, chat, tmp_path, [("poem",)]):
            [known] = wait_for(lambda: read(workers), 30, "Flower to know the worker").values()
            assert "active_queues" in known or wait_for(
                lambda: "active_queues" in next(iter((read(workers) or {}).values()), {}), 30, "its queues"
            )
    finally:
        flower.send_signal(signal.SIGTERM)
        ended(flower)

    lines = log.read_text().splitlines()
    assert lines
    assert all(json.loads(line)["logger"] for line in lines)
