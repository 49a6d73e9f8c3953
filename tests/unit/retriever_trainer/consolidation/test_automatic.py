from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
import redis

from memshare_broker.presence import Presence, announce
from memshare_broker.settings import Settings
from memshare_memory.belief.trust import retriever_key
from memshare_memory.encoders.encoder import BUNDLED
from memshare_memory.stores.open_store import open_store
from memshare_memory.stores.store import Layout
from memshare_trainer.lesson_log import RETRIEVERS
from memshare_trainer.worker import Automatic, is_at_hand, is_trainable
from tests.support.deployment import ended, wait_for


def worker(host: str, queue: str) -> Presence:
    return Presence(node=f"{queue}@{host}", pid=1, incarnation="a", queues=(queue,))


TRAINER = worker("here", "trainer")


@pytest.fixture
def settings(redis_folder: Path, tmp_path: Path) -> Settings:
    """Of a machine that has a pool in its folder, and a Redis elsewhere."""
    settings = Settings(data=tmp_path, redis_url=Settings(data=redis_folder).redis)
    open_store(settings, Layout(BUNDLED, 384), "a test").close()
    return settings


def test_a_pool_of_this_machine_is_at_hand(settings: Settings) -> None:
    assert is_at_hand(settings, [TRAINER, worker("here", "memory")])


def test_a_memory_service_of_another_machine_must_share_the_folder_of_encoders(settings: Settings) -> None:
    workers = [TRAINER, worker("here", "memory"), worker("there", "memory")]

    assert not is_at_hand(settings, workers)
    assert is_at_hand(settings.model_copy(update={"encoders": settings.data}), workers)


def test_a_pool_in_a_folder_of_another_machine_is_not_at_hand(settings: Settings, tmp_path: Path) -> None:
    elsewhere = settings.model_copy(update={"data": tmp_path / "other", "encoders": tmp_path})

    assert not is_at_hand(elsewhere, [TRAINER, worker("there", "memory")])


def test_without_a_memory_service_nothing_starts(settings: Settings) -> None:
    assert not is_at_hand(settings, [TRAINER])


def running() -> list[psutil.Process]:
    """The consolidations that this process has begun."""
    alive = [one for one in psutil.Process().children() if one.status() != psutil.STATUS_ZOMBIE]
    return [one for one in alive if "memshare_trainer.consolidation" in one.cmdline()]


def test_it_begins_by_itself_at_100_lessons_and_not_again_at_once_after_it_failed(
    settings: Settings, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMSHARE_DATA", str(settings.data))
    monkeypatch.setenv("MEMSHARE_REDIS_URL", settings.redis)
    for one in (TRAINER, worker("here", "memory")):
        announce(redis_client, one)
    redis_client.sadd(RETRIEVERS, json.dumps(["poem", BUNDLED]))
    automatic = Automatic()

    def after(lessons: int, **changed: bool) -> list[psutil.Process]:
        redis_client.hset(retriever_key("poem", BUNDLED, "state"), "counted", lessons)
        automatic.pulse(settings.model_copy(update=changed), ["trainer"])
        return running()

    assert after(99) == after(100, consolidate=False) == after(100, learn=False) == []
    [process] = after(100)

    assert after(100) == [process]
    process.kill()
    wait_for(lambda: process.status() == psutil.STATUS_ZOMBIE, 20, "it to end")
    assert after(100) == after(200) == []


@pytest.mark.parametrize(
    ("encoder", "trainable"),
    [(BUNDLED, True), (f"{BUNDLED}@0123abcd", True), ("openai:text-embedding-3-small", False), ("other", False)],
)
def test_an_encoder_that_is_not_that_of_the_settings_is_left_alone(encoder: str, trainable: bool) -> None:
    assert is_trainable(Settings(), encoder) is trainable


@pytest.mark.parametrize(("ends_first", "code"), [("the work", 0), ("the trainer", 1)])
def test_a_process_that_would_end_with_its_trainer_ends_well_when_its_work_is_done(ends_first: str, code: int) -> None:
    work = f"""
import threading, time
from memshare_trainer.consolidation.__main__ import end_with_input

threading.Thread(target=end_with_input, daemon=True).start()
time.sleep({0.2 if ends_first == "the work" else 60})
"""
    with subprocess.Popen([sys.executable, "-c", work], stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        if ends_first == "the trainer":
            process.stdin.close()

        assert ended(process) == code
