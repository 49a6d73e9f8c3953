"""The heartbeat of a worker, and the thread that gives it."""

import gc
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import redis
from celery import Celery, signals
from celery.bootsteps import CLOSE, RUN

from memshare_broker import worker as watch_module
from memshare_broker.app import make_app
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.delivery.schema import Entry, open_key
from memshare_broker.presence import PREFIX, Presence, announce, present
from memshare_broker.settings import Settings
from memshare_broker.worker import Pulse, WorkerWatch, takes_tasks
from tests.support.deployment import wait_for
from tests.support.watching import watch_of

StartWatch = Callable[..., WorkerWatch]


@pytest.fixture
def start_watch(
    redis_client: redis.Redis,  # noqa: ARG001 - an empty one
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[StartWatch]:
    """Starts the thread of a worker that is ready, with these pulses; its rounds are short."""
    monkeypatch.setattr(watch_module.presence, "INTERVAL", 0.05)
    before = list(signals.worker_shutdown.receivers)
    known = settings.model_copy(update={"heartbeat": tmp_path / "heartbeat"})
    started: list[WorkerWatch] = []

    def start(*pulses: Pulse, app: Celery | None = None) -> WorkerWatch:
        started.append(watch_of(known, *pulses, app=app))
        started[-1].start()
        return started[-1]

    yield start
    signals.worker_shutdown.send(sender=None)
    signals.worker_shutdown.receivers = before
    for one in started:
        one.join(10)


def test_a_child_that_a_worker_forks_does_not_withdraw_it(
    start_watch: StartWatch, redis_client: redis.Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch_module.presence, "INTERVAL", 60)  # what is withdrawn stays away
    start_watch()
    wait_for((tmp_path / "heartbeat").exists, 10, "the first heartbeat")

    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)

    assert [worker.node for worker in present(redis_client)] == ["w@host"]
    assert (tmp_path / "heartbeat").exists()


def test_a_live_worker_of_the_same_name_is_noticed_and_one_that_was_killed_is_not(
    start_watch: StartWatch, redis_client: redis.Redis, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = Presence(node="w@host", pid=1, incarnation="other", queues=("poem",))
    announce(redis_client, other)
    start_watch()
    wait_for((tmp_path / "heartbeat").exists, 10, "the first heartbeat")
    time.sleep(0.3)
    assert "Two workers" not in caplog.text

    announce(redis_client, other)
    wait_for(lambda: "Two workers are called w@host" in caplog.text, 10, "it to be noticed")
    wait_for(lambda: not present(redis_client)[0].shares_name, 10, "it to be over")


def test_a_worker_that_shuts_down_is_withdrawn(
    start_watch: StartWatch, redis_client: redis.Redis, tmp_path: Path
) -> None:
    thread = start_watch()
    wait_for((tmp_path / "heartbeat").exists, 10, "the first heartbeat")

    signals.worker_shutdown.send(sender=None)
    thread.join(10)

    assert not thread.is_alive()
    assert present(redis_client) == []
    assert not (tmp_path / "heartbeat").exists()


def test_a_fault_of_one_round_does_not_end_the_thread(
    start_watch: StartWatch, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    redis_client.hset("memshare:messages", "t1", "no entry")
    redis_client.sadd("memshare:queues", "poem")
    redis_client.zadd("memshare:open:poem", {"t1": 0})
    thread = start_watch()

    wait_for(lambda: "Invalid JSON" in caplog.text, 10, "the sweep to fail on what is no entry")
    redis_client.delete(PREFIX + "w@host")

    wait_for(lambda: present(redis_client), 10, "the worker to announce itself again")
    assert thread.is_alive()


def test_a_slow_pulse_does_not_keep_a_worker_from_announcing_itself(
    start_watch: StartWatch, redis_client: redis.Redis
) -> None:
    running, go_on = threading.Event(), threading.Event()

    def slow(_settings: Settings, _queues: object) -> None:
        running.set()
        go_on.wait(30)

    start_watch(slow)
    assert running.wait(10)
    redis_client.delete(PREFIX + "w@host")

    try:
        wait_for(lambda: present(redis_client), 10, "the worker to announce itself again")
    finally:
        go_on.set()


class StuckQueue(Celery):
    """An app whose messages stay on their way until they may go on."""

    running, go_on = threading.Event(), threading.Event()

    def producer_or_acquire(self, *_: Any, **__: Any) -> Any:
        self.running.set()
        self.go_on.wait(30)
        return super().producer_or_acquire()


def test_a_long_sweep_does_not_keep_a_worker_from_announcing_itself(
    start_watch: StartWatch, redis_client: redis.Redis, settings: Settings
) -> None:
    lost = Entry(id="t1", task="agents.poem", queue="poem", body={}, journey="t1", stage="answer")
    Ledger(redis_client, keep_days=1).open(lost)
    redis_client.zadd(open_key("poem"), {"t1": 0})
    app = StuckQueue(set_as_current=False)
    app.config_from_object(make_app(settings=settings).conf)

    start_watch(app=app)
    assert app.running.wait(10), "the sweep sends what was lost"
    redis_client.delete(PREFIX + "w@host")

    try:
        wait_for(lambda: present(redis_client), 10, "the worker to announce itself again")
    finally:
        app.go_on.set()


def test_a_pulse_that_fails_is_run_again(start_watch: StartWatch) -> None:
    runs = []

    def broken(_settings: Settings, _queues: object) -> None:
        runs.append(1)
        raise ValueError("no store")

    start_watch(broken)

    wait_for(lambda: len(runs) > 1, 10, "the second run")


@pytest.mark.parametrize(
    ("state", "active", "connected", "takes"),
    [(RUN, True, True, True), (CLOSE, True, True, False), (RUN, False, True, False), (RUN, True, False, False)],
)
def test_a_worker_takes_tasks_while_its_consumer_and_its_pool_do(
    state: int, active: bool, connected: bool, takes: bool
) -> None:
    consumer = SimpleNamespace(
        blueprint=SimpleNamespace(state=state),
        pool=SimpleNamespace(active=active),
        connection=SimpleNamespace(connected=connected),
    )

    assert takes_tasks(consumer) is takes


def test_a_worker_without_a_connection_yet_takes_none() -> None:
    consumer = SimpleNamespace(blueprint=SimpleNamespace(state=RUN), pool=SimpleNamespace(active=True), connection=None)

    assert takes_tasks(consumer) is False


def test_what_refers_to_itself_is_let_go_of_though_nothing_makes_python_look_for_it(
    start_watch: StartWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failure:
        def __init__(self) -> None:
            self.trace = self

    monkeypatch.setattr(watch_module, "COLLECT_EVERY", 0.05)
    gc.disable()
    try:
        start_watch()
        wait_for(lambda: "memshare-garbage" in {thread.name for thread in threading.enumerate()}, 10, "the thread")
        left = weakref.ref(Failure())

        wait_for(lambda: left() is None, 10, "the garbage to be gone")
    finally:
        gc.enable()
