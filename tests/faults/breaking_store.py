"""The faults of the pool's server: it is away, slow, full, killed, killed while the pool moves, or refuses the key."""

from __future__ import annotations

import random
import shutil
import time

from memshare_broker.errors import MemshareError
from memshare_memory.encoders.encoder import BUNDLED, bundled_folder, folder_of
from memshare_memory.pool.pool import name_in_use
from memshare_memory.stores.open_store import layout_in_use
from memshare_trainer.consolidation.consolidation import Consolidation, Progress
from memshare_trainer.consolidation.pool_record import pool_pages
from tests.faults.breaking import AWAY, ROUNDS
from tests.faults.cluster import Cluster
from tests.faults.store_process import KEY, KEYS

SLOW, TOO_SLOW = 0.5, 12.0  # seconds, each way; a call may take ten
NOTICED_WITHIN = 60.0  # seconds
STORED_WITHIN = 300.0  # seconds
OTHER_KEYS = {"QDRANT__SERVICE__API_KEY": "another"}
READ_ONLY_KEYS = {**OTHER_KEYS, "QDRANT__SERVICE__READ_ONLY_API_KEY": KEY}
TUNED = f"{BUNDLED}@0123abcd"
MOVED, FEWEST = 20, 40  # memories: re-encoded before the server is killed; in the pool by then


def store_away(cluster: Cluster, _size: float) -> int:
    assert cluster.store is not None
    with cluster.store.frozen():
        time.sleep(AWAY)
    return 1


def kill_store(cluster: Cluster, size: float) -> int:
    """The server of the pool is killed at any moment, and started again after two seconds."""
    assert cluster.store is not None
    chance = random.Random(7)
    times = max(1, round(ROUNDS * size))
    for _ in range(times):
        time.sleep(chance.uniform(1, 4))
        cluster.store.restart(away=2.0)
    return times


def slow_store(cluster: Cluster, size: float) -> int:
    """The line to the server is slow, and then so slow that no call ends in time.

    Counts: one for tasks that were stored over the slow line, and one for tries that failed over the other.
    """
    assert cluster.store_line is not None
    settled = cluster.client.ledger.done().get("settle", 0)
    cluster.store_line.delay = SLOW
    time.sleep(AWAY * max(size, 0.5))
    struck = int(cluster.client.ledger.done().get("settle", 0) > settled)
    failed = cluster.failed_for("store")
    cluster.store_line.delay = TOO_SLOW
    time.sleep(AWAY)
    cluster.store_line.delay = 0.0
    return struck + int(cluster.failed_for("store") > failed)


def fill_store(cluster: Cluster, _size: float) -> int:
    """The server's disk is full for a while; one that ends of that is started again once there is room."""
    assert cluster.disk is not None
    assert cluster.store is not None
    failed = cluster.failed_for("store")
    cluster.disk.fill()
    time.sleep(AWAY)
    full = cluster.disk.is_full()
    cluster.disk.free()
    cluster.store.start_if_ended()
    return int(full and cluster.failed_for("store") > failed)


def refuse_key(cluster: Cluster, size: float) -> int:
    """The server has another key for a while, and then lets the one that is used only read.

    Counts how often tasks waited for the key, which their errors name.
    """
    assert cluster.store is not None
    struck = 0
    for keys in (OTHER_KEYS, READ_ONLY_KEYS):
        cluster.store.restart(keys=keys)
        struck += cluster.wait_for(lambda: _waits_for_key(cluster), NOTICED_WITHIN)
        time.sleep(AWAY / 2 * size)
    cluster.store.restart(keys=KEYS)
    return struck


def _waits_for_key(cluster: Cluster) -> bool:
    return any("MEMSHARE_QDRANT_API_KEY" in one.why for one in cluster.client.ledger.parked.all())


def kill_store_while_it_moves(cluster: Cluster, _size: float) -> int:
    """The pool moves to another encoder while tasks keep coming, and its server is killed in the middle of that.

    Counts the kill where nothing had changed after it, and the same move, made again, came to its end.
    """
    store, settings = cluster.store, cluster.settings
    assert store is not None
    cluster.wait_for(lambda: len(store.memories()) >= FEWEST, STORED_WITHIN)
    shutil.copytree(bundled_folder(), folder_of(settings, TUNED))
    kills: list[int] = []

    def kill(what: str, done: int, total: int | None) -> None:  # noqa: ARG001
        if what.startswith("Re-encoding") and done >= MOVED and not kills:
            kills.append(done)
            store.restart()

    try:
        _move(cluster, kill)
        broken_off = False
    except MemshareError:
        broken_off = True
    as_before = name_in_use(settings, cluster.direct) in (None, BUNDLED)
    if broken_off:
        _move(cluster, kill)
    layout = layout_in_use(settings)
    return int(bool(kills) and (as_before or not broken_off) and layout is not None and layout.encoder == TUNED)


def _move(cluster: Cluster, progress: Progress) -> None:
    with pool_pages(cluster.settings, cluster.direct) as (pages, name):
        Consolidation(cluster.settings, cluster.direct, pages, name, progress).move_to(TUNED, with_lessons=True)
