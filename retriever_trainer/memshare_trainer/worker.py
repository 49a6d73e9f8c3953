"""Builds the trainer and serves its queue; `celery -A memshare_trainer.worker worker` runs it alone.

It consolidates by itself, in a process beside the trainer, when there are enough new lessons.
"""

from __future__ import annotations

import functools
import logging
import subprocess
import time
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING

import redis

from memshare_broker.app import MEMORY_QUEUE, TRAINER_QUEUE, App
from memshare_broker.child_processes import python
from memshare_broker.connection import connect
from memshare_broker.delivery.hops import LEARN
from memshare_broker.delivery.stage import Stage, add_stage
from memshare_broker.presence import Presence, present
from memshare_broker.settings import Settings
from memshare_broker.worker import WorkerPart, open_stage_services, worker_app
from memshare_llm.batches import Batches
from memshare_llm.build import fit_in_time, hand_in_deferred, open_deferring, open_limited
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

if TYPE_CHECKING:
    from memshare_trainer.learn import LearnStage


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
            self._process = _start()

    def _over(self, client: redis.Redis, code: int) -> None:
        self._process = None
        state = read_state(client)
        if code != 0 and state.outcome != "refused":
            self._not_before = time.monotonic() + AFTER_A_FAILURE
        log.info("Consolidation: %s. %s", state.outcome or "failed", state.reason)


def _start() -> subprocess.Popen[bytes]:
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


@functools.cache
def _learn(settings: Settings) -> LearnStage:
    # torch takes seconds to import, and only who learns needs it.
    import torch

    from memshare_trainer.labels import SIDE_BY_SIDE, Labeller
    from memshare_trainer.learn import LearnStage
    from memshare_trainer.percentages import LabelCheck, Percentages

    torch.set_num_threads(1)  # a step is small: in two threads it takes several times as long
    connections = settings.concurrency * SIDE_BY_SIDE
    chat = open_limited(settings, settings.model_for("trainer"), "labels", connections=connections)
    client = connect(settings.redis)
    ledger = open_stage_services(settings).ledger
    wait, most = settings.concepts_wait, settings.lessons_together
    model = settings.model_for("trainer")
    in_time = fit_in_time(settings, model)
    batches = Batches(LEARN, "labels", client, ledger, wait, most=most, said=Percentages, model=model, in_time=in_time)
    labeller = Labeller(chat, open_deferring(settings, model, LEARN), settings.labels, batches)
    # For as long as a message may be tried again, it is known what it taught.
    tried_for = max(settings.traces_days, settings.retry_hours / 24 + 1)
    return LearnStage(client, labeller, LabelCheck(client, model), kept=settings.lessons_kept, keep_days=tried_for)


def _register(app: App, settings: Settings) -> None:
    stage = Stage(LEARN, lambda journey, task: _learn(settings).run(journey, task))
    add_stage(app, stage, functools.partial(open_stage_services, settings))


def _warm(settings: Settings, queues: Sequence[str]) -> None:
    """Only the model is opened, so that no fault hides; torch comes with the first lesson.

    So does all that imports httpx, and a call by openai in one thread fails while another one imports that: it is
    imported here, before the first task.
    """
    if TRAINER_QUEUE in queues:
        import httpx  # noqa: F401

        open_limited(settings, settings.model_for("trainer"), "labels", connections=1)


_automatic = Automatic()


def _pulse(settings: Settings, queues: Sequence[str]) -> None:
    hand_in_deferred(settings, settings.model_for("trainer"))
    _automatic.pulse(settings, queues)


part = WorkerPart(queues=lambda _: [TRAINER_QUEUE], register=_register, warm=_warm, pulse=_pulse)
app = worker_app(part)
