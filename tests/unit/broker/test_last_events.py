"""The end of a real worker process, for who watches its events."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import suppress

import redis

from memshare.client.client import Client
from memshare_broker.delivery.schema import INCARNATIONS
from memshare_broker.settings import Settings
from tests.support.deployment import ended, wait_for

SLOW = """
import time
from dataclasses import replace
from memshare_broker.delivery.hops import ANSWER
from memshare_broker.delivery.stage import Outcome, Stage
from memshare_broker.delivery.stage import add_stage
from memshare_broker.worker import WorkerPart, open_stage_services, worker_app

def slow(_journey, task):
    time.sleep(1)
    return Outcome(task)

def register(app, settings):
    add_stage(app, Stage(replace(ANSWER.of("poem"), has_result=False), slow), lambda: open_stage_services(settings))

part = WorkerPart(queues=lambda _: ["poem"], register=register, warm=lambda _settings, _queues: None)
worker_app(part).worker_main(["worker", "--without-mingle", "-l", "WARNING"])
"""


def test_who_watches_hears_of_the_tasks_that_end_while_their_worker_does(
    settings: Settings, redis_client: redis.Redis
) -> None:
    client = Client(settings)
    heard: Counter[str] = Counter()
    receiver = client.app.events.Receiver(
        client.app.connection_for_read(), {"*": lambda one: heard.update([one["type"]])}
    )
    environment = os.environ | {"MEMSHARE_DATA": str(settings.data), "MEMSHARE_CONCURRENCY": "4"}
    worker = subprocess.Popen([sys.executable, "-c", SLOW], env=environment)
    with receiver.consumer_context() as (connection, _channel, _consumers):

        def hear(kind: str, many: int) -> bool:
            with suppress(TimeoutError):
                connection.drain_events(timeout=0.05)
            return heard[kind] == many

        wait_for(lambda: hear("task-sent", 0) and client.workers(), 60, "the worker to be there")
        for number in range(3):
            client.submit("poem", f"A limerick about the number {number}")
        wait_for(lambda: hear("task-started", 3), 30, "the tasks to begin")
        assert heard["task-sent"] == 3
        worker.send_signal(signal.SIGTERM)
        assert ended(worker) == 0

        wait_for(lambda: hear("task-succeeded", 3), 10, "the events of their end")

    assert not redis_client.exists(INCARNATIONS)
    client.close()
