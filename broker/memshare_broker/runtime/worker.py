"""A worker: the Celery app of one or more packages, and the two things every worker does beside its tasks.

It says every few seconds that it is there, and one of all workers looks for lost messages.
"""

from __future__ import annotations

import functools
import logging
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from celery import Celery, signals
from celery.utils.nodenames import default_nodename, gethostname, nodename
from celery.worker import WorkController, state
from prometheus_client import Gauge, start_http_server

from memshare_broker.app import make_app
from memshare_broker.connection import connect, wait_for_redis
from memshare_broker.delivery.dead_letters import DeadLetters
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.delivery.stage_task import StageServices
from memshare_broker.errors import BadInput, MemshareError
from memshare_broker.observe import logs
from memshare_broker.presence import AgentCard, require_same_secret
from memshare_broker.private_files import keep_private
from memshare_broker.runtime.shutdown import hand_back_after
from memshare_broker.runtime.watch import Pulse, WorkerWatch, forget
from memshare_broker.settings import Settings, load_settings
from memshare_broker.wire.secret import open_signer

RUNNING = ("memshare_worker_running_tasks", "Tasks that this worker runs now.")
CONCURRENCY = ("memshare_worker_concurrency", "Tasks that this worker runs at a time.")
log = logging.getLogger(__name__)

# What became of a message, each stage says in a line of its own; Celery's "received" and "succeeded" say it twice more.
CHATTY = ("httpx", "httpx2", "celery.worker.strategy", "celery.app.trace")


@dataclass(frozen=True)
class WorkerPart:
    """What a package adds to a worker."""

    queues: Callable[[Settings], Sequence[str]]
    register: Callable[[Celery, Settings], None]
    """Registers the package's tasks. Runs before the first message, builds nothing heavy."""
    warm: Callable[[Settings, Sequence[str]], None]
    """Builds what the tasks need for these queues, so that no message waits for it, and no fault hides."""
    cards: Callable[[Settings], Sequence[AgentCard]] = lambda _: ()
    pulse: Pulse = lambda _settings, _queues: None
    """Runs every few seconds beside the tasks, except with prefork, whose children own what it would look at."""


@functools.cache
def open_stage_services(settings: Settings) -> StageServices:
    """The broker's side of every stage, one for a process."""
    client = connect(settings.redis)
    ledger = Ledger(client, settings.keep_days, settings.traces_days)
    return StageServices(
        ledger, DeadLetters(client, ledger), settings.tries, settings.retry_hours * 3_600, open_signer(settings)
    )


def worker_app(*parts: WorkerPart) -> Celery:
    """The app of a worker that serves the queues of these parts; also what `celery -A` finds."""

    def queues(settings: Settings) -> list[str]:
        with _clear_exit():
            return [queue for part in parts for queue in part.queues(settings)]

    app = make_app(queues)

    @signals.celeryd_init.connect(weak=False)
    def name(instance: Any, **_: Any) -> None:
        if instance.app is app and instance.hostname == default_nodename(""):
            # Two on a machine would have one name, under which each says that it is there.
            instance.hostname = nodename(f"celery-{os.getpid()}", gethostname())
        if instance.app is app:
            with _clear_exit():
                logs.set_up_worker(load_settings().log_format)

    @signals.worker_init.connect(weak=False)
    def build(sender: Any, **_: Any) -> None:
        if sender.app is not app:
            return
        for chatty in CHATTY:
            logging.getLogger(chatty).setLevel(logging.WARNING)
        with _clear_exit():
            settings = _as_started(sender)
            sender.quiet |= settings.log_format == "json"  # the banner is no JSON
            forget(settings.heartbeat)
            if settings.metrics_port is not None:
                _serve_metrics(settings.metrics_port, sender)
            keep_private(settings.data)
            served = list(app.amqp.queues.consume_from)
            serving = _serving(parts, settings, served)
            wait_for_redis(settings.redis)
            _require_same_secret(settings)
            for name in [name for name in app.tasks if name.startswith("celery.")]:
                app.tasks.unregister(name)  # such as celery.map, which runs any task for whoever asks
            for part in serving:
                part.register(app, settings)
            if not _forks(sender.pool_cls):  # torch must not be forked once warm
                for part in serving:
                    part.warm(settings, served)
        logs.leave_to_celery()

    @signals.worker_shutting_down.connect(weak=False)
    def end(how: str, **_: Any) -> None:
        if how == "Warm":
            hand_back_after(load_settings().grace)

    @signals.worker_ready.connect(weak=False)
    def watch(sender: Any, **_: Any) -> None:
        if sender.app is app:
            settings = _as_started(sender.controller)
            serving = _serving(parts, settings, list(app.amqp.queues.consume_from))
            cards = [card for part in serving for card in part.cards(settings)]
            pulses = [] if _forks(type(sender.pool)) else [part.pulse for part in serving]
            WorkerWatch(app, settings, sender, cards, pulses).start()

    return app


def _as_started(worker: Any) -> Settings:
    """The settings of this worker, with the tasks that it runs at a time. What is opened once is known by them."""
    return load_settings().model_copy(update={"concurrency": worker.concurrency})


def _require_same_secret(settings: Settings) -> None:
    signer = open_signer(settings)
    with closing(connect(settings.redis)) as client:
        require_same_secret(client, signer)


def _serving(parts: Sequence[WorkerPart], settings: Settings, served: Sequence[str]) -> list[WorkerPart]:
    """The parts of which a queue is served; the others are not even imported."""
    return [part for part in parts if set(part.queues(settings)) & set(served)]


def _forks(pool: type) -> bool:
    return pool.__module__ == "celery.concurrency.prefork"


class _clear_exit:  # noqa: N801 - reads as a statement
    """End the worker with one clear line; Celery's signals would swallow anything but `SystemExit`."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, KeyboardInterrupt):  # such as while it waits for Redis
            raise SystemExit(130) from None
        if isinstance(error, MemshareError):
            if logs.is_json():
                log.error("%s", error)
            else:
                print(f"memshare: {error}", file=sys.stderr)
            raise SystemExit(2 if isinstance(error, BadInput) else 1) from error
        if isinstance(error, Exception):
            log.exception("The worker could not be built.")
            raise SystemExit(1) from error


def _serve_metrics(port: int, worker: WorkController) -> None:
    """Serve a worker's own metrics on all addresses until it ends; raises `BadInput` where the port is taken."""
    running = Gauge(*RUNNING)
    running.set_function(lambda: len(state.active_requests))
    concurrency = Gauge(*CONCURRENCY)
    concurrency.set_function(lambda: worker.concurrency)  # type: ignore[attr-defined] # the stubs know of none
    try:
        server, _ = start_http_server(port)
    except OSError as error:
        raise BadInput(f"MEMSHARE_METRICS_PORT={port} cannot be listened on: {error.strerror}.") from error
    os.register_at_fork(after_in_child=server.socket.close)  # or a child left behind would hold the port
