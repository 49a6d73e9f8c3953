from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from memshare_broker.presence import Presence
from memshare_broker.settings import Settings
from memshare_memory.encoders.bundled import BUNDLED
from memshare_memory.stores.open_store import open_store
from memshare_memory.stores.store import Layout
from memshare_trainer.consolidation.automatic import is_at_hand, is_trainable


def worker(host: str, queue: str) -> Presence:
    return Presence(node=f"{queue}@{host}", pid=1, life="a", queues=(queue,))


TRAINER = worker("here", "trainer")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Of a machine that has a pool in its folder."""
    settings = Settings(data=tmp_path)
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

        assert process.wait(30) == code
