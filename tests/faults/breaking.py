"""The faults: each breaks a running cluster for real, and returns when it is whole again.

Each gets the cluster and the size of the run, 1 for the full one and less for a short one, and returns how often it
struck: a run that nothing has struck proves nothing.
"""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable

from memshare_broker.settings import Settings
from tests.faults.cluster import KINDS, Cluster
from tests.faults.model import Fault
from tests.faults.up import Up

ROUNDS = 5  # how often each kind of worker is ended, and Redis
AWAY = 30.0  # seconds
MANY_KEYS, IN_A_ROW = 5_000, 5.0  # keys, seconds
BACK = 600  # seconds
CUT, SHORT_CUT = 45.0, 25.0  # seconds; both are longer than a worker's presence lasts
CHAT_WITHIN = 600.0  # seconds


def ending(sign: signal.Signals) -> Callable[[Cluster, float], int]:
    """Each kind of worker is ended in turn, the next one when all are back: one every few seconds."""

    def hurt(cluster: Cluster, size: float) -> int:
        chance = random.Random(7)
        for _ in range(max(1, round(ROUNDS * size))):
            for name in cluster.fleet.names:
                cluster.wait_until_ready()
                time.sleep(chance.uniform(0, 1))
                cluster.fleet.end(name, sign)
        cluster.wait_until_ready()
        return cluster.fleet.ended

    return hurt


def stop(cluster: Cluster, _size: float) -> int:
    """One worker of each kind is stopped for longer than the visibility timeout; the spare one goes on."""
    for name in KINDS:
        cluster.fleet.send(name, signal.SIGSTOP)
    time.sleep(Settings().longest_task + 15)
    for name in KINDS:
        cluster.fleet.send(name, signal.SIGCONT)
    return len(KINDS)


def restart_redis(cluster: Cluster, size: float) -> int:
    times = max(1, round(ROUNDS * size))
    for number in range(times):
        time.sleep(min(number, 1) * 5)
        cluster.redis.kill()
        time.sleep(2)
        cluster.redis.start()
    return times


def killing_own_redis(times: int) -> Callable[[Cluster, float], int]:
    """The Redis of `memshare up`, with many keys to load, is killed so many times in a row."""

    def hurt(cluster: Cluster, _size: float) -> int:
        assert isinstance(cluster.fleet, Up)
        cluster.direct.mset({f"filler:{number}": "x" * 2_000 for number in range(MANY_KEYS)})
        began, struck = time.monotonic(), 0
        for _ in range(times):
            cluster.fleet.kill_redis()
            struck += time.monotonic() - began < IN_A_ROW
            time.sleep(0.2)  # its process is gone
        cluster.wait_until_ready()
        return struck

    return hurt


def freeze_redis(cluster: Cluster, _size: float) -> int:
    with cluster.redis.frozen():
        time.sleep(AWAY)
    return 1


def cut_line(cluster: Cluster, size: float) -> int:
    """Every other time the line is cut in the middle of what it carries, and every other time by Redis."""
    assert cluster.line is not None
    for number in range(max(4, round(20 * size))):
        if number % 2:
            cluster.redis.cut_clients()
        else:
            cluster.line.cut()
        time.sleep(1)
    return cluster.line.broken


def cut_off_hosts(cluster: Cluster, size: float) -> int:
    """The host of an agent, then the scorer's: its packets vanish, until its worker has long been given up.

    Counts the cuts that struck: something was in flight, the worker was missed, and the same process came back.
    """
    assert cluster.network is not None
    struck = 0
    for name in ("poem", "scorer") if size >= 1 else ("poem",):
        pid, in_flight = cluster.fleet.pid(name), cluster.open_messages()
        cluster.network.unplug(name)
        time.sleep(CUT if size >= 1 else SHORT_CUT)
        missed = pid not in {worker.pid for worker in cluster.client.workers()}
        cluster.network.plug(name)
        back = cluster.wait_until_ready() and cluster.fleet.pid(name) == pid
        struck += bool(in_flight and missed and back)
    return struck


def failing(fault: Fault) -> Callable[[Cluster, float], int]:
    """A share of the model's calls fail until every task has ended."""

    def hurt(cluster: Cluster, _size: float) -> int:
        cluster.model.fault = fault
        deadline = time.monotonic() + CHAT_WITHIN
        while cluster.open_messages() != 0 and time.monotonic() < deadline:
            time.sleep(0.2)
        cluster.model.fault = None
        return cluster.model.failed

    return hurt


def fill_disk(cluster: Cluster, _size: float) -> int:
    assert cluster.disk is not None
    cluster.disk.fill()
    time.sleep(AWAY)
    full = cluster.disk.is_full()
    cluster.disk.free()
    return int(full)


def turn_back(cluster: Cluster, _size: float) -> int:
    """The clock is turned back while tasks are in flight, and then each worker is killed that has some of them."""
    assert cluster.clock is not None
    cluster.clock.turn(-BACK)
    return ending(signal.SIGKILL)(cluster, 1 / ROUNDS)
