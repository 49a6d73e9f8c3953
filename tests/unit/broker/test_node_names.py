"""Names of workers that are started the plain Celery way, two on one machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
import redis

from memshare_broker.presence import present
from memshare_broker.settings import Settings
from tests.support.deployment import ROOT, ended, wait_for

COMMAND = (sys.executable, "-m", "celery", "-A", "memshare_scorer.worker", "worker", "--without-mingle")


@contextmanager
def worker(settings: Settings, *options: str) -> Iterator[int]:
    environment = os.environ | {"MEMSHARE_DATA": str(settings.data), "MEMSHARE_MODEL": "offline"}
    process = subprocess.Popen(
        [*COMMAND, *options], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield process.pid
    finally:
        process.terminate()
        ended(process)


@pytest.mark.slow
def test_two_workers_of_one_machine_have_two_names_and_a_given_name_stays(
    settings: Settings, redis_client: redis.Redis
) -> None:
    with ExitStack() as running:
        pids = [running.enter_context(worker(settings)) for _ in range(2)]
        running.enter_context(worker(settings, "-n", "mine@here"))
        there = wait_for(lambda: len(found := present(redis_client)) == 3 and found, 60, "three workers")

    names = {one.node.partition("@")[0] for one in there}
    assert names == {f"celery-{pids[0]}", f"celery-{pids[1]}", "mine"}
