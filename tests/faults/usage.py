"""What a running deployment takes: memory and open files of each worker, and bytes in Redis."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import fmean

import psutil
import redis

from memshare_broker.delivery.schema import DEAD, JOURNEY, TRACE
from tests.faults.fleet import Fleet

LOOK_EVERY = 0.5  # seconds
ROUNDS = 100  # of counting what comes and goes
KEPT = (
    JOURNEY,
    TRACE,
    "celery-task-meta-",
    "memshare:lesson",
    "memshare:retriever",
    "memshare:credibility:",
    "memshare:credited:",
    "memshare:credits_by:",
    "memshare:conflicts:",
    "memshare:claims:",
    "memshare:lift:",
    "memshare:lift_counted:",
    "memshare:how_many_shown:",
    "memshare:how_many_counted:",
    "memshare:writers:",
    "memshare:writers_counted:",
    DEAD,
)
"""What is to stay: of each journey its result and trace, of each pool its lessons, credits, lift and conflicts."""
OF_A_JOURNEY = (JOURNEY, TRACE, "celery-task-meta-")


@dataclass(frozen=True)
class Look:
    """One look at a worker's process, so many seconds after the start."""

    at: float
    name: str
    rss: int
    files: int


@dataclass(frozen=True)
class RedisBytes:
    """Bytes in Redis: what a journey leaves, and what workers work with."""

    of_a_journey: float
    working: float


@contextmanager
def watched(fleet: Fleet, now: Callable[[], float]) -> Iterator[list[Look]]:
    """Look at every worker now and then for as long as the block runs."""
    looks: list[Look] = []
    over = threading.Event()

    def watch() -> None:
        while not over.wait(LOOK_EVERY):
            for name in fleet.names:
                try:
                    process = psutil.Process(fleet.pid(name))
                    looks.append(Look(now(), name, process.memory_info().rss, process.num_fds()))
                except psutil.NoSuchProcess:  # it is being started again
                    continue

    thread = threading.Thread(target=watch, name="usage")
    thread.start()
    try:
        yield looks
    finally:
        over.set()
        thread.join()


def redis_bytes(client: redis.Redis, journeys: Sequence[str], seconds: float) -> RedisBytes:
    """Count the bytes of some journeys, and of what is not kept: the least of some seconds, for it comes and goes."""
    over = time.monotonic() + seconds
    working = [_bytes(client, _working(client))]
    while time.monotonic() < over:
        time.sleep(seconds / ROUNDS)
        working.append(_bytes(client, _working(client)))
    left = fmean(_bytes(client, [start + one for start in OF_A_JOURNEY]) for one in journeys)
    return RedisBytes(of_a_journey=left, working=min(working))


def _working(client: redis.Redis) -> Sequence[str]:
    return [name for name in map(str, client.scan_iter(count=1000)) if not name.startswith(KEPT)]


def _bytes(client: redis.Redis, names: Iterable[str]) -> int:
    asking = client.pipeline(transaction=False)
    for name in names:
        asking.memory_usage(name, samples=0)
    return sum(size or 0 for size in asking.execute())
