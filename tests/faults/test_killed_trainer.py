"""The trainer is killed, over and over, at any moment."""

from __future__ import annotations

import random
import subprocess
import time
from pathlib import Path

import redis

from memshare.client.client import Client
from memshare_broker.delivery.hops import LEARN
from memshare_broker.settings import Settings
from memshare_broker.wire.lessons import LessonTask
from memshare_trainer.lesson_log import LessonLog
from tests.faults.worker_process import start_memshare
from tests.support.chat_server import serving
from tests.support.deployment import wait_for
from tests.support.lessons import ENCODER, lesson
from tests.support.oracle import Oracle

KILLS = 3
LESSONS = 48


def send(client: Client, task: LessonTask) -> None:
    """As the memory service does."""
    client.send(LEARN.next(task, task.journey))


def test_kills_at_random_moments_lose_no_lesson_count_none_twice_and_tear_no_version(
    redis_folder: Path, tmp_path: Path, redis_client: redis.Redis
) -> None:
    chance = random.Random(7)
    settings = Settings(data=redis_folder, model="openai:scripted")
    log = LessonLog(redis_client, "poem", ENCODER, kept=2000, keep_days=7)
    client = Client(settings)
    environment = {"MEMSHARE_DATA": str(redis_folder), "MEMSHARE_MODEL": "openai:scripted", "OPENAI_API_KEY": "test"}
    environment |= {"MEMSHARE_CONCURRENCY": "4", "MEMSHARE_LEASE": "20", "MEMSHARE_CONCEPTS_WAIT": "2"}
    tasks = [lesson(number) for number in range(LESSONS)]
    oracle = Oracle(lambda prompt: prompt.split()[0], delay=0.15)
    with serving(oracle) as chat:

        def start() -> subprocess.Popen[bytes]:
            return start_memshare(["worker", "trainer"], tmp_path / "log", environment | {"OPENAI_BASE_URL": chat.url})

        for task in tasks:
            send(client, task)

        moved = 0
        for _ in range(KILLS):
            process, counted = start(), log.head().counted
            wait_for(lambda counted=counted: log.head().counted > counted, 90, "the trainer to learn something")
            time.sleep(chance.uniform(0, 0.8))
            process.kill()
            process.wait()
            moved += log.head().counted > counted
        assert moved == KILLS
        assert log.head().counted < LESSONS  # every kill hit a trainer at work

        last = start()
        wait_for(lambda: client.ledger.open_messages()["trainer"] == 0, 120, "every lesson to be learnt")
        last.kill()
        last.wait()

    kept = [*log.lessons(), *log.held_out()]
    assert log.head().counted == LESSONS
    assert sorted(one.number for one in kept) == list(range(1, LESSONS + 1))
    assert {one.memory_id for one in kept} == {task.memory_id for task in tasks}
    assert client.ledger.done()["learn"] == LESSONS
    assert sum(log.counts().values()) == LESSONS
    assert log.head().version in log.versions()
    for version in log.versions():
        published = log.published(version)
        assert published is not None
        assert published.unpack().any()  # raises where the hash does not fit
    assert redis_client.hlen("memshare:dead") == 0
    client.close()
