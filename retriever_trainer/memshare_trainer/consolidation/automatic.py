"""Consolidates by itself, in a process beside the trainer, when there are enough new lessons."""

from __future__ import annotations

import logging
import subprocess
import time
from collections.abc import Sequence
from contextlib import closing

import redis

from memshare_broker.app import MEMORY_QUEUE, TRAINER_QUEUE
from memshare_broker.child_processes import python
from memshare_broker.connection import connect
from memshare_broker.presence import Presence, present
from memshare_broker.settings import Settings
from memshare_memory.encoders.encoder import ENCODER, first_name, origin_of
from memshare_trainer.consolidation.consolidation_state import (
    ALIVE,
    Job,
    clear_killed,
    count_lessons,
    is_suggested,
    memories,
    next_at,
    read_state,
    starts,
)

log = logging.getLogger(__name__)

AFTER_A_FAILURE = 3_600.0  # seconds


class Automatic:
    """Holds the process of a consolidation that this trainer has started."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._not_before = 0.0
        self._suggested = 0

    def pulse(self, settings: Settings, queues: Sequence[str]) -> None:
        """Start one if it is time to, and say what became of it; called every few seconds."""
        if TRAINER_QUEUE not in queues or not (settings.consolidate and settings.learn):
            return
        with closing(connect(settings.redis)) as client:
            if self._process is None:
                self._start_if_due(settings, client)
            elif (code := self._process.poll()) is not None:
                with self._process:  # closes the pipe to it
                    self._over(client, code)

    def _start_if_due(self, settings: Settings, client: redis.Redis) -> None:
        if client.exists(ALIVE) or time.monotonic() < self._not_before:
            return
        clear_killed(client)
        encoder = str(client.get(ENCODER) or first_name(settings))
        if not is_trainable(settings, encoder):
            return
        stored, lessons, last = memories(client), count_lessons(client, encoder), read_state(client).lessons
        if is_suggested(lessons, last, stored) and next_at(last) != self._suggested:
            self._suggested = next_at(last)
            what = "There are %d lessons: run `memshare retriever consolidate`. A pool of %d memories waits for you to."
            log.info(what, lessons, stored)
        if starts(lessons, last, stored) and is_at_hand(settings, present(client)):
            log.info("Consolidating: the encoder is trained on %d lessons, %d at the last time.", lessons, last)
            self._process = start()

    def _over(self, client: redis.Redis, code: int) -> None:
        self._process = None
        state = read_state(client)
        if code != 0 and state.outcome != "refused":
            self._not_before = time.monotonic() + AFTER_A_FAILURE
        log.info("Consolidation: %s. %s", state.outcome or "failed", state.reason)


def start() -> subprocess.Popen[bytes]:
    """A consolidation at low priority, which ends when this process does: its standard input ends then."""
    command = python("-m", "memshare_trainer.consolidation", Job(background=True).model_dump_json())
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)


def is_trainable(settings: Settings, encoder: str) -> bool:
    """True if the encoder is ours to train, and is that of the settings or was made from it."""
    return not encoder.startswith("openai:") and origin_of(encoder) == first_name(settings)


def is_at_hand(settings: Settings, workers: Sequence[Presence]) -> bool:
    """True if this machine can read the pool, and every memory service finds files put into the encoders' folder.

    That is so on one machine, and where MEMSHARE_ENCODERS names a folder: one that they share.
    """
    from memshare_memory.stores.open_store import layout_in_use  # with the store's engine, which takes a while

    here = next((_host(worker) for worker in workers if TRAINER_QUEUE in worker.queues), None)
    services = [worker for worker in workers if MEMORY_QUEUE in worker.queues]
    shared = settings.encoders is not None or all(_host(service) == here for service in services)
    return bool(services) and shared and layout_in_use(settings) is not None


def _host(worker: Presence) -> str:
    return worker.node.rpartition("@")[2]
