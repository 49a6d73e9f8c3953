"""Redis at its maxmemory under real workers: what was accepted goes on, and nothing waits once there is room."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import redis

from memshare_broker.errors import Unreachable
from memshare_broker.settings import Settings
from tests.support.chat_script import Answer
from tests.support.chat_server import serving
from tests.support.deployment import deployed, wait_for
from tests.support.full_redis import full_memory

QUEUES = ("poem", "scorer", "memory")  # there is no trainer
TASKS = 20
ENDED_WITHIN = 45.0  # seconds; what waits for MEMSHARE_LEASE takes 330


def test_a_full_redis_loses_nothing_and_nothing_waits_once_there_is_room(
    redis_folder: Path, redis_client: redis.Redis, tmp_path: Path
) -> None:
    settings = Settings(data=redis_folder, model="openai:scripted")
    with (
        serving(lambda _: Answer(delay=1.0)) as chat,
        deployed(settings, chat, tmp_path, [(one,) for one in QUEUES], MEMSHARE_CONCURRENCY="4") as running,
    ):
        tasks = [running.client.submit("poem", f"A limerick about lamp {number}") for number in range(TASKS)]
        wait_for(lambda: chat.requests, 60, "the model to be asked")
        with full_memory(redis_client):
            with pytest.raises(Unreachable, match="maxmemory"):
                running.client.submit("poem", "One too many")
            asked = len(chat.requests)
            wait_for(lambda: len(chat.requests) > asked + 4, 60, "what was accepted to go on")
            time.sleep(5)  # whatever goes wrong while it is full has gone wrong by then

        began = time.monotonic()
        for task in tasks:
            assert running.client.wait(task.id, ENDED_WITHIN).ended
        open_messages = running.client.ledger.open_messages
        wait_for(lambda: not any(open_messages()[queue] for queue in QUEUES), ENDED_WITHIN, "everything to end")
        assert time.monotonic() - began < ENDED_WITHIN
