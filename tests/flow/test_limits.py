"""Full queues, priorities, and workers that are told to end, on real workers."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest
import redis

from memshare.client.client import BULK
from memshare_broker.app import lists_of
from memshare_broker.errors import QueueFull
from memshare_broker.settings import Settings
from tests.support.chat_script import Answer
from tests.support.chat_server import serving
from tests.support.deployment import deployed, patient, wait_for

QUEUES = ("poem", "scorer", "memory")


@pytest.fixture
def settings(redis_folder: Path) -> Settings:
    return Settings(data=redis_folder, model="openai:scripted")


@pytest.mark.usefixtures("redis_client")
def test_a_full_queue_refuses_tasks_until_some_are_done_and_a_persons_task_overtakes_those_of_a_file(
    redis_folder: Path, tmp_path: Path
) -> None:
    asked: list[str] = []
    held = True
    limit = 10

    def script(body: dict) -> Answer:
        if "response_format" not in body:
            asked.append(body["messages"][-1]["content"])
            wait_for(lambda: not held, 60, "the test to let go")
        return Answer()

    settings = Settings(data=redis_folder, model="openai:scripted", queue_limit=limit + 1)
    with serving(script) as chat, deployed(settings, chat, tmp_path, [QUEUES], MEMSHARE_CONCURRENCY="1") as running:
        bulk = [running.client.submit("poem", f"of a file {number}", priority=BULK) for number in range(limit)]
        wait_for(lambda: asked, 30, "the model to be asked")
        person = running.client.submit("poem", "by a person")
        with pytest.raises(QueueFull, match=f"{limit + 1}"):
            running.client.submit("poem", "one too many")
        held = False
        for task in (*bulk, person):
            task.get(timeout=patient(60))
        assert running.client.submit("poem", "there is room again").get(timeout=patient(60))

        # What a worker has taken before a person comes goes first: what it runs, and one beyond that.
        assert asked.index("by a person") <= 2


def test_a_worker_told_to_end_lets_tasks_finish_for_a_while_and_hands_back_the_others(
    settings: Settings, redis_client: redis.Redis, tmp_path: Path
) -> None:
    delays = {"quick": 3.0, "slow": 600.0}

    def script(body: dict) -> Answer:
        prompt = body["messages"][-1]["content"]
        return Answer(delay=next((delay for word, delay in delays.items() if prompt.startswith(word)), 0.0))

    with serving(script) as chat, deployed(settings, chat, tmp_path, [QUEUES], MEMSHARE_GRACE="8") as running:
        quick = running.client.submit("poem", "quick to answer")
        slow = running.client.submit("poem", "slow to answer")
        wait_for(lambda: len(chat.requests) == 2, 30, "the model to be asked")

        worker = running.processes.pop(QUEUES)
        worker.send_signal(signal.SIGTERM)
        told = time.monotonic()
        assert worker.wait(patient(60)) == 0
        assert time.monotonic() - told < patient(30)

        assert running.client.journey(quick.id).answer
        assert running.client.journey(slow.id).answer is None
        assert sum(redis_client.llen(name) for name in lists_of("poem")) == 1
        assert redis_client.hlen("unacked") == 0, "what was finished is acknowledged"
        delays.clear()
        running.start(QUEUES)
        assert [running.settled(task.id, within=60).outcome for task in (quick, slow)] == ["stored"] * 2
        assert running.client.ledger.done() == {"answer": 2, "score": 2, "settle": 2}
