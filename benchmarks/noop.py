"""What Celery does with tasks that do nothing, with our settings: the rate that journeys are measured by."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from celery import Celery

from benchmarks.journey_side import rate_of
from memshare_broker import redis_server
from memshare_broker.app import make_app, queue_named
from memshare_broker.connection import connect
from memshare_broker.settings import Settings
from tests.support.deployment import ROOT, wait_for

app: Celery = make_app(lambda _: ["noop"])


@app.task(name="benchmarks.noop")
def noop() -> None:
    """What Celery costs by itself."""


def noop_rate(data: Path, count: int, threads: int) -> float:
    """Tasks a second, on a Redis of their own in this folder."""
    settings = Settings(data=data, redis_url=None)
    redis = redis_server.start(data)
    try:
        wait_for(redis_server.socket_path(data).exists, 10, "Redis")
        return _rate(settings, count, threads)
    finally:
        redis.terminate()
        redis.wait()


def _rate(settings: Settings, count: int, threads: int) -> float:
    sender = make_app(lambda _: ["noop"], settings)
    command = [sys.executable, "-m", "celery", "-A", "benchmarks.noop", "worker", "-Q", "noop", "-c", str(threads)]
    with connect(settings.redis) as client, (settings.data / "noop.log").open("ab") as log:
        for _ in range(count):
            sender.send_task(
                "benchmarks.noop",
                queue=queue_named("noop"),  # type: ignore[arg-type] # the stubs know of names only
                ignore_result=True,
                priority=3,
            )
        worker = subprocess.Popen(
            [*command, "--without-mingle", "--without-gossip", "-l", "WARNING"],
            cwd=ROOT,
            env=os.environ | {"MEMSHARE_DATA": str(settings.data)},
            stdout=log,
            stderr=log,
        )
        try:
            return rate_of(lambda: count - int(client.llen("noop\x06\x163")), count, "no-op tasks")
        finally:
            worker.terminate()
            worker.wait()
            sender.close()
