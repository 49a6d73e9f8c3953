"""What every worker has beside its tasks: threads that say that it is there, and that look for lost messages."""

from __future__ import annotations

import functools
import gc
import logging
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import redis
from celery import Celery, signals
from celery.bootsteps import RUN  # type: ignore[attr-defined] # the stubs know of no states
from celery.worker.consumer import Consumer

from memshare_broker.app import CONCEPTS_QUEUE, SCORER_QUEUE
from memshare_broker.connection import connect
from memshare_broker.delivery.parked import ParkedMessages
from memshare_broker.delivery.publish import publish
from memshare_broker.delivery.sweeper import sweep
from memshare_broker.presence import INTERVAL, WORKER_INCARNATION, AgentCard, Presence, announce, withdraw
from memshare_broker.settings import Settings
from memshare_broker.steady_thread import repeat, steady_thread
from memshare_broker.wire.secret import open_signer

log = logging.getLogger(__name__)

RELEASE_EVERY = 1.0  # seconds; a task that is tried again, or was sent to run at a time, is as late as that
RELEASED_AT_ONCE = 200  # messages
COLLECT_EVERY = 30.0  # seconds; what a failed task leaves refers to itself, with 100 kB and sockets

Pulse = Callable[[Settings, Sequence[str]], None]


class WorkerWatch(threading.Thread):
    """Announces the worker and touches its heartbeat file, until the process ends.

    What else is to be done every few seconds has threads of its own: a long sweep, or a pulse that waits for its store,
    does not make the worker look gone.
    """

    def __init__(
        self, app: Celery, settings: Settings, consumer: Consumer, cards: Sequence[AgentCard], pulses: Sequence[Pulse]
    ) -> None:
        super().__init__(name="memshare-watch", daemon=True)
        queues = tuple(app.amqp.queues.consume_from)
        self._app = app
        self._settings = settings
        self._consumer = consumer
        self._pulses = pulses
        self._client: redis.Redis = connect(settings.redis)
        self._parked = ParkedMessages(self._client)
        self._presence = Presence(
            node=consumer.hostname,
            pid=os.getpid(),
            incarnation=WORKER_INCARNATION,
            queues=queues,
            agents=tuple(card for card in cards if card.name in queues),
            scorer_model=settings.model_for("scorer") if {SCORER_QUEUE, CONCEPTS_QUEUE} & {*queues} else None,
            secrets=open_signer(settings).fingerprints,
        )
        self._stopped = threading.Event()
        signals.worker_shutdown.connect(self._withdraw, weak=False)

    def run(self) -> None:
        gc.collect()
        gc.freeze()  # what is there by now stays, and makes looking for garbage slow
        others: dict[str, tuple[Callable[[], object], float]] = {
            "memshare-releases": (self._release, RELEASE_EVERY),
            "memshare-sweeper": (self._sweep, INTERVAL),
            # Where few tasks fail, Python itself looks for the older part of it once an hour.
            "memshare-garbage": (gc.collect, COLLECT_EVERY),
        }
        for number, pulse in enumerate(self._pulses, 1):
            run_pulse = functools.partial(pulse, self._settings, self._presence.queues)
            others[f"memshare-pulse-{number}"] = (run_pulse, INTERVAL)
        for name, (step, every) in others.items():
            steady_thread(name, step, self._stopped, every=every)
        repeat(self.name, self._announce, self._stopped, every=INTERVAL)

    def _announce(self) -> None:
        announce(self._client, self._presence)
        self._beat()

    def _sweep(self) -> None:
        sweep(self._app, self._client, self._settings.lost_after)

    def _beat(self) -> None:
        if self._settings.heartbeat is not None and takes_tasks(self._consumer):
            try:
                self._settings.heartbeat.touch()
            except OSError as error:
                log.warning("The heartbeat file cannot be touched: %s", error)

    def _release(self) -> None:
        """Publish what has waited beside its queue long enough."""
        while entries := self._parked.release(RELEASED_AT_ONCE):
            for entry in entries:
                publish(self._app, entry)

    def _withdraw(self, **_: Any) -> None:
        self._stopped.set()
        forget(self._settings.heartbeat)
        try:
            withdraw(self._client, self._presence)
        except redis.RedisError as error:
            log.warning("This worker is forgotten by itself, Redis does not do its part: %s", error)


def takes_tasks(consumer: Consumer) -> bool:
    """Whether a worker really takes tasks: its consumer runs and is connected, and so does its pool."""
    there = consumer.blueprint.state == RUN and consumer.pool is not None and consumer.pool.active
    return bool(there and consumer.connection and consumer.connection.connected)


def forget(heartbeat: Path | None) -> None:
    """Remove a heartbeat file, so that an earlier process does not speak for this one."""
    if heartbeat is not None:
        heartbeat.unlink(missing_ok=True)
