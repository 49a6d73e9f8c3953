"""Every thread that must not end, broken with every error that redis-py has: it goes on, and does its work again."""

from __future__ import annotations

import inspect
import io
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import redis
from celery import signals
from redis import exceptions
from rich.console import Console
from rich.live import Live

from memshare.cli.begin.up import _Status
from memshare.client.client import Client
from memshare_broker import celery_patches, steady_thread, worker
from memshare_broker.app import make_app
from memshare_broker.celery_patches import Dispatcher
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.delivery.schema import SWEEPING, SWEPT, Entry
from memshare_broker.errors import NotYet
from memshare_broker.presence import PREFIX
from memshare_broker.settings import Settings
from memshare_broker.steady_thread import steady_thread as start_steady_thread
from memshare_broker.wire.messages import Usage
from memshare_broker.wire.signing import open_signer
from memshare_llm.limits import usage
from memshare_llm.limits.usage import Charge, UsageLog
from memshare_memory.door.messages import RecallRequest
from memshare_memory.door.service import RecallBatches
from memshare_memory.pool import owner
from memshare_memory.pool.pool import Pool
from memshare_trainer.consolidation import consolidation_state
from memshare_trainer.consolidation.consolidation_state import Consolidated
from tests.support.deployment import wait_for
from tests.support.watching import watch_of

Check = Callable[[], object]


def every_error() -> list[Exception]:
    kinds = [kind for _, kind in inspect.getmembers(exceptions, inspect.isclass) if issubclass(kind, Exception)]
    assert len(kinds) > 30
    refusals = [exceptions.ResponseError("MISCONF Errors writing to the AOF file: No space left on device")]
    return [*[kind("1 127.0.0.1:6379") for kind in kinds], *refusals, OSError("No space left"), TimeoutError()]


class Breaker:
    """Fails the connections of one thread to Redis with one error after the other, every second time."""

    def __init__(self) -> None:
        self.errors = every_error()
        self.thread: str | None = None
        self._fails = False

    def meet(self) -> None:
        if threading.current_thread().name == self.thread and self.errors:
            self._fails = not self._fails
            if self._fails:
                raise self.errors.pop()


@pytest.fixture
def breaker(monkeypatch: pytest.MonkeyPatch) -> Breaker:
    made = Breaker()
    plainly = redis.ConnectionPool.get_connection

    def get_connection(pool: redis.ConnectionPool, *args: Any, **kwargs: Any) -> Any:
        made.meet()
        return plainly(pool, *args, **kwargs)

    monkeypatch.setattr(redis.ConnectionPool, "get_connection", get_connection)
    monkeypatch.setattr(steady_thread, "LONGEST_PAUSE", 0.01)
    for module, name in (
        (worker.presence, "INTERVAL"),
        (worker, "RELEASE_EVERY"),
        (owner, "RENEW_EVERY"),
        (consolidation_state, "INTERVAL"),
        (celery_patches, "EVERY"),
        (usage, "EVERY"),
    ):
        monkeypatch.setattr(module, name, 0.01)
    return made


class Deployment:
    """What the threads are made of."""

    def __init__(self, settings: Settings, client: redis.Redis, pool: Pool) -> None:
        self.settings, self.client, self.pool = settings, client, pool


Work = Callable[[Deployment], Iterator[tuple[Check, Callable[[], Check]]]]
"""Starts a thread; gives what keeps it busy, and what gives it work and tells whether it has done that."""


def _watching(is_done: Callable[[Deployment], Check]) -> Work:
    def run(made: Deployment) -> Iterator[tuple[Check, Callable[[], Check]]]:
        def pulse(settings: Settings, _queues: object) -> None:
            made.client.set("pulse", settings.lost_after)

        before = list(signals.worker_shutdown.receivers)
        thread = watch_of(made.settings, pulse)
        thread.start()
        try:
            yield lambda: None, lambda: is_done(made)
        finally:
            signals.worker_shutdown.send(sender=None)
            signals.worker_shutdown.receivers = before
            thread.join(10)

    return run


def _comes_back(*keys: str) -> Callable[[Deployment], Check]:
    """Whether the first of some keys is there again, after they were deleted."""

    def is_done(made: Deployment) -> Check:
        made.client.delete(*keys)
        return lambda: made.client.exists(keys[0])

    return is_done


def _is_released(made: Deployment) -> Check:
    ledger = Ledger(made.client, keep_days=1)
    later = Entry(id="t1", task="agents.poem", queue="poem", body={}, journey="t1", stage="answer")
    ledger.begin(later, "life")
    ledger.park(later, NotYet("Later.", 0, hold="its time"))
    return lambda: not ledger.parked.all()


def _events(made: Deployment) -> Iterator[tuple[Check, Callable[[], Check]]]:
    app = make_app(settings=made.settings)
    with app.connection_for_write() as connection:
        sending = app.events.Dispatcher(connection, hostname="w@host", buffer_group=["task"], on_send_buffered=print)
        assert isinstance(sending, Dispatcher)
        try:
            yield lambda: sending.send("task-started", uuid="t1"), lambda: lambda: not sending._outbound_buffer
        finally:
            sending.close()
            app.close()


def _usage(made: Deployment) -> Iterator[tuple[Check, Callable[[], Check]]]:
    usage, added = UsageLog(made.client), []

    def add() -> None:
        added.append(1)
        usage.add(Charge("poem", "ada", "offline", Usage(prompt_tokens=1, completion_tokens=1), 0.0))

    yield add, lambda: lambda: usage.used([("agent", "poem")])[0].calls == len(added)


def _claim(made: Deployment) -> Iterator[tuple[Check, Callable[[], Check]]]:
    claimed = owner.claim(made.client, made.settings)
    assert claimed is not None
    try:
        yield lambda: None, lambda: _comes_back(owner.OWNER)(made)
    finally:
        claimed.release()


def _recalls(made: Deployment) -> Iterator[tuple[Check, Callable[[], Check]]]:
    recalls = RecallBatches(made.pool)
    request = RecallRequest(pool="poem", text="lamp", k=1)

    def ask() -> bool:
        with suppress(Exception):
            return recalls.ask(request).result(10).found == ()
        return False

    try:
        yield ask, lambda: ask
    finally:
        recalls.close()


def _consolidation(made: Deployment) -> Iterator[tuple[Check, Callable[[], Check]]]:
    over = threading.Event()

    def work() -> Consolidated:
        over.wait(60)
        return Consolidated(encoder_before="a", encoder="a@1", pools=(), lessons=0, memories=0)

    thread = threading.Thread(target=consolidation_state.recorded, args=[made.client, 1, work])
    thread.start()
    wait_for(lambda: made.client.exists(consolidation_state.ALIVE), 10, "the consolidation to begin")
    try:
        yield lambda: None, lambda: _comes_back(consolidation_state.ALIVE)(made)
    finally:
        over.set()
        thread.join(10)


def _status(made: Deployment) -> Iterator[tuple[Check, Callable[[], Check]]]:
    ended, said = threading.Event(), io.StringIO()
    live = Live(console=Console(file=said))
    with closing(Client(made.settings)) as client:
        thread = start_steady_thread("memshare-status", _Status(client, live).show, ended, every=0.01)
        try:
            yield lambda: None, lambda: lambda: "none yet" in str(live.renderable)
        finally:
            ended.set()
            thread.join(10)


THREADS: dict[str, Work] = {
    "memshare-watch": _watching(_comes_back(PREFIX + "w@host")),
    "memshare-sweeper": _watching(_comes_back(SWEPT, SWEEPING)),
    "memshare-releases": _watching(_is_released),
    "memshare-pulse-1": _watching(_comes_back("pulse")),
    "memshare-events": _events,
    "memshare-usage": _usage,
    "pool-owner": _claim,
    "memshare-recalls": _recalls,
    "memshare-consolidation": _consolidation,
    "memshare-status": _status,
}


@pytest.mark.parametrize("name", THREADS)
@pytest.mark.usefixtures("memory")  # its door, for the status
def test_a_thread_goes_on_after_every_error_that_redis_may_give(
    name: str, breaker: Breaker, settings: Settings, redis_client: redis.Redis, pool: Pool, tmp_path: Path
) -> None:
    own = settings.model_copy(update={"data": tmp_path, "redis_url": settings.redis})
    open_signer(own, make=True)
    with contextmanager(THREADS[name])(Deployment(own, redis_client, pool)) as (keep_busy, work):
        breaker.thread = name

        wait_for(lambda: (keep_busy(), not breaker.errors)[1], 30, "the thread to meet every error")

        assert name in {thread.name for thread in threading.enumerate()}
        wait_for(work(), 10, "its work to be done")
