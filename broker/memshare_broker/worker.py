"""A worker: the Celery app of one or more packages, and the two things every worker does beside its tasks.

It says every few seconds that it is there, and one of all workers looks for lost messages.
"""

from __future__ import annotations

import atexit
import functools
import gc
import logging
import os
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import redis
from celery import Celery, signals
from celery.bootsteps import RUN  # type: ignore[attr-defined] # the stubs know of no states
from celery.utils.nodenames import default_nodename, gethostname, nodename
from celery.worker import WorkController, state
from celery.worker.consumer import Consumer
from celery.worker.request import Request
from prometheus_client import Gauge, start_http_server

from memshare_broker import presence
from memshare_broker.app import CONCEPTS_QUEUE, SCORER_QUEUE, TRAINER_QUEUE, make_app
from memshare_broker.connection import connect, wait_for_redis
from memshare_broker.delivery.dead_letters import DeadLetters
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.delivery.publish import publish
from memshare_broker.delivery.stage import StageServices
from memshare_broker.delivery.sweeper import ParkedMessages, sweep
from memshare_broker.errors import BadInput, MemshareError
from memshare_broker.observe import logs, tracing
from memshare_broker.observe.logs import ids
from memshare_broker.presence import AgentCard, Presence
from memshare_broker.private_files import keep_private
from memshare_broker.settings import Settings, load_settings
from memshare_broker.steady_thread import repeat, steady_thread
from memshare_broker.wire.signing import open_signer

# Before a part imports numpy, whose threads would wait for each other at our small matrices: without it they took 47 %
# of a trainer's processor time, and 19 % of a memory service's.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

_steps: list[Callable[[], None]] = []


def before_the_end(step: Callable[[], None]) -> None:
    """Have a step taken when this process, or a child that it forks for its tasks, ends in an orderly way."""
    if not _steps:
        atexit.register(take_last_steps)
        signals.worker_process_shutdown.connect(take_last_steps, weak=False)  # which ends without `atexit`
    _steps.append(step)


def at_shutdown(step: Callable[..., None]) -> None:
    """Have a step taken, with arguments of Celery's, when a worker of this process has ended."""
    signals.worker_shutdown.connect(step, weak=False)


def take_last_steps(**_: Any) -> None:
    """Take the steps, each once."""
    while _steps:
        _steps.pop()()


log = logging.getLogger(__name__)


def hand_back_after(seconds: float) -> None:
    """Let running tasks finish for so many seconds, then put them back into their queues and end the process.

    Threads cannot be ended by themselves. What they would still record stays unrecorded; the next worker does it.
    """
    taken = list(state.reserved_requests)  # Celery forgets them when it stops to consume
    timer = threading.Timer(seconds, _hand_back, args=[seconds, taken])
    timer.name, timer.daemon = "memshare-grace", True
    timer.start()


def _hand_back(seconds: float, taken: Sequence[Request]) -> None:
    try:
        _requeue(seconds, {*taken, *state.active_requests})
    except Exception:  # such as without Redis
        log.exception("What has not finished could not go back to its queue: the sweeper sends it again.")
    take_last_steps()
    tracing.end()
    logging.shutdown()
    os._exit(0)


def _requeue(seconds: float, requests: Collection[Request]) -> None:
    # To the messages themselves: what is asked of a request is done by the consumer, which has stopped.
    for request in requests:
        if request.message.acknowledged:
            continue
        if request.acknowledged:
            request.message.ack()
            continue
        request.message.requeue()
        about = ids(task_id=request.id, task=request.name)
        log.warning("Not finished %.0f s after the signal to end: back in its queue.", seconds, extra=about)


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
            incarnation=presence.WORKER_INCARNATION,
            queues=queues,
            agents=tuple(card for card in cards if card.name in queues),
            scorer_model=settings.model_for("scorer") if {SCORER_QUEUE, CONCEPTS_QUEUE} & {*queues} else None,
            trainer_model=settings.model_for("trainer") if TRAINER_QUEUE in queues else None,
            secrets=open_signer(settings).fingerprints,
        )
        self._is_announced = False
        self._stopped = threading.Event()
        signals.worker_shutdown.connect(self._withdraw, weak=False)

    def run(self) -> None:
        gc.collect()
        gc.freeze()  # what is there by now stays, and makes looking for garbage slow
        look_for_lost = functools.partial(sweep, self._app, self._client, self._settings.lost_after)
        others: dict[str, tuple[Callable[[], object], float]] = {
            "memshare-releases": (self._release, RELEASE_EVERY),
            "memshare-sweeper": (look_for_lost, presence.INTERVAL),
            # Where few tasks fail, Python itself looks for the older part of it once an hour.
            "memshare-garbage": (gc.collect, COLLECT_EVERY),
        }
        for number, pulse in enumerate(self._pulses, 1):
            run_pulse = functools.partial(pulse, self._settings, self._presence.queues)
            others[f"memshare-pulse-{number}"] = (run_pulse, presence.INTERVAL)
        for name, (step, every) in others.items():
            steady_thread(name, step, self._stopped, every=every)
        repeat(self.name, self._announce, self._stopped, every=presence.INTERVAL)

    def _announce(self) -> None:
        before, own = presence.announce(self._client, self._presence), self._presence
        # The first time it may be of a worker before this one, that was killed.
        shares = self._is_announced and before not in (None, own.incarnation)
        self._is_announced = True
        if shares and not own.shares_name:
            log.error("%s", presence.SAME_NAME.format(node=own.node))
        self._presence = own.model_copy(update={"shares_name": shares})
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
            presence.withdraw(self._client, self._presence)
        except redis.RedisError as error:
            log.warning("This worker is forgotten by itself, Redis does not do its part: %s", error)


def takes_tasks(consumer: Consumer) -> bool:
    """True if a worker really takes tasks: its consumer runs and is connected, and its pool is active."""
    there = consumer.blueprint.state == RUN and consumer.pool is not None and consumer.pool.active
    return bool(there and consumer.connection and consumer.connection.connected)


def forget(heartbeat: Path | None) -> None:
    """Remove a heartbeat file, so that an earlier process does not speak for this one."""
    if heartbeat is not None:
        heartbeat.unlink(missing_ok=True)


RUNNING = ("memshare_worker_running_tasks", "Tasks that this worker runs now.")
CONCURRENCY = ("memshare_worker_concurrency", "Tasks that this worker runs at a time.")

# What became of a message, each stage says in a line of its own; Celery's "received" and "succeeded" say it twice more.
CHATTY = ("httpx", "httpx2", "celery.worker.strategy", "celery.app.trace")


@dataclass(frozen=True)
class WorkerPart:
    """The queues, tasks and other parts that a package adds to a worker."""

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
            signer = open_signer(settings)  # what it lacks is told before Redis is waited for
            wait_for_redis(settings.redis)
            with closing(connect(settings.redis)) as client:
                presence.require_same_secret(client, signer)
            for name in [name for name in app.tasks if name.startswith("celery.")]:
                app.tasks.unregister(name)  # such as celery.map, which runs any task for whoever asks
            for part in serving:
                part.register(app, settings)
            if not _forks(sender.pool_cls):  # torch must not be forked once warm
                for part in serving:
                    part.warm(settings, served)
        logging.getLogger().handlers.clear()  # Celery makes its own, in a file where it is told to

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


def run_worker(
    app: Celery, queues: Sequence[str], node: str, concurrency: int | None, ready: Callable[[], None], *, quiet: bool
) -> int:
    """Run a worker of an app until it is told to end, under the name `node@HOST`; returns the exit status.

    `ready` is called once it takes tasks; a `quiet` one shows no banner.
    """
    signals.worker_ready.connect(lambda **_: ready(), weak=False)
    # What `celery worker` runs. `app.worker_main` imports all of its other commands too: a fifth of a worker's start.
    from celery.bin.base import CLIContext
    from celery.bin.worker import worker

    options = ["--queues", ",".join(queues), "--hostname", f"{node}@%h", "--loglevel", "INFO"]
    options += ["--without-gossip", "--without-mingle"]
    if concurrency:
        options += ["--concurrency", str(concurrency)]
    context = CLIContext(app, no_color=None, workdir=None, quiet=quiet)  # type: ignore[arg-type]  # None: colours on a terminal
    status = worker.main(options, obj=context, standalone_mode=False)
    # Celery ends with 1 after Ctrl-C, as if something had failed; after SIGTERM with 0.
    return 0 if state.should_stop else status or 0


def _as_started(worker: Any) -> Settings:
    """The settings of this worker, with the tasks that it runs at a time. What is opened once is known by them."""
    return load_settings().model_copy(update={"concurrency": worker.concurrency})


def _serving(parts: Sequence[WorkerPart], settings: Settings, served: Sequence[str]) -> list[WorkerPart]:
    """The parts of which a queue is served; the others are not even imported."""
    return [part for part in parts if set(part.queues(settings)) & set(served)]


def _forks(pool: type) -> bool:
    return pool.__module__ == "celery.concurrency.prefork"


@contextmanager
def _clear_exit() -> Iterator[None]:
    """End the worker with one clear line; Celery's signals would swallow anything but `SystemExit`."""
    try:
        yield
    except KeyboardInterrupt:  # such as while it waits for Redis
        raise SystemExit(130) from None
    except MemshareError as error:
        if logs.is_json():
            log.error("%s", error)
        else:
            print(f"memshare: {error}", file=sys.stderr)
        raise SystemExit(2 if isinstance(error, BadInput) else 1) from error
    except Exception as error:
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
