"""Every scenario of the fault-injection run, in the order in which they run."""

from __future__ import annotations

import shutil
import signal

from tests.faults import breaking, breaking_backup, breaking_concepts, breaking_memory, breaking_queues, breaking_store
from tests.faults.clock import no_clock
from tests.faults.cluster import Setup
from tests.faults.disk import no_disk
from tests.faults.hosts import no_hosts
from tests.faults.impostor import GARBAGE
from tests.faults.model import any_of_them, broken, cut_off, garbage, hanging, overloaded
from tests.faults.run import Scenario
from tests.support.qdrant_server import NAMED


def not_ours() -> str | None:
    return "the server of MEMSHARE_TEST_QDRANT_URL is not ours to freeze" if NAMED else None


def no_server() -> str | None:
    return not_ours() or (None if shutil.which("qdrant") else "there is no `qdrant` on the PATH")


SCENARIOS = (
    Scenario("no fault", "nothing, to compare with", None, quick=True),
    Scenario(
        "kill -9",
        "every kind of worker in turn, every few seconds",
        breaking.ending(signal.SIGKILL),
        Setup(latency=0.05, line=0.005),
        quick=True,
    ),
    Scenario(
        "kill -9, sweeper off",
        "the same with Celery alone: it must lose messages",
        breaking.ending(signal.SIGKILL),
        Setup(latency=0.05, line=0.005, sweeper=False),
        loses=True,
    ),
    Scenario(
        "kill -9, defaults",
        "the same with concepts, and the lease that is not set: a lost message waits for no lease",
        breaking.ending(signal.SIGKILL),
        Setup(latency=0.05, line=0.005, lease=None, concepts=True),
        drains_within=40,
    ),
    Scenario("SIGTERM", "every kind of worker in turn, every few seconds", breaking.ending(signal.SIGTERM), quick=True),
    Scenario(
        "memory killed",
        "its service with the embedded pool by kill -9, 25 times, while tasks keep coming",
        breaking_memory.kill_memory,
        Setup(latency=0.05, embedded=True),
        quick=True,
        strikes=25,
        load_goes_on=True,
    ),
    Scenario(
        "concepts killed",
        "the worker that names concepts by kill -9, over and over, with 300 memories to name",
        breaking_concepts.kill_worker,
        Setup(embedded=True, concepts=True),
        quick=True,
        strikes=5,
    ),
    Scenario(
        "memory garbage",
        "something else answers at its socket for 30 s",
        breaking_memory.replace_memory,
        Setup(latency=0.05, embedded=True),
        quick=True,
        strikes=len(GARBAGE),
        load_goes_on=True,
    ),
    Scenario("Redis killed", "and started again, over and over", breaking.restart_redis, quick=True),
    Scenario(
        "own Redis killed",
        "that of `memshare up`, with 5,000 keys",
        breaking.killing_own_redis(1),
        Setup(embedded=True, up=True),
    ),
    Scenario(
        "own Redis killed twice",
        "that of `memshare up`, with 5,000 keys, within five seconds",
        breaking.killing_own_redis(2),
        Setup(embedded=True, up=True),
        quick=True,
        strikes=2,
    ),
    Scenario("Redis frozen", "for 30 s", breaking.freeze_redis),
    Scenario(
        "Redis cut off", "every connection, in the middle, every second", breaking.cut_line, Setup(line=0.0), quick=True
    ),
    Scenario(
        "host cut off",
        "each worker has a host of its own; an agent's, then the scorer's, for 45 s",
        breaking.cut_off_hosts,
        Setup(latency=0.5, hosts=True),
        missing=no_hosts,
        strikes=2,
        most=500,
    ),
    Scenario("Redis full", "its folder has no room for 30 s", breaking.fill_disk, Setup(disk="redis"), missing=no_disk),
    Scenario("store away", "for 30 s", breaking_store.store_away, missing=not_ours),
    Scenario(
        "store slow",
        "half a second each way for 30 s, then so slow that no call ends in time",
        breaking_store.slow_store,
        Setup(store_line=True),
        strikes=2,
        load_goes_on=True,
    ),
    Scenario(
        "store full",
        "a real Qdrant's disk has no room for 30 s",
        breaking_store.fill_store,
        Setup(disk="store"),
        missing=lambda: no_server() or no_disk(),
        load_goes_on=True,
    ),
    Scenario(
        "store key",
        "a real Qdrant refuses the key, then lets it read alone",
        breaking_store.refuse_key,
        strikes=2,
        missing=no_server,
        load_goes_on=True,
    ),
    Scenario(
        "store killed, moving",
        "a real Qdrant by kill -9 in the middle of a move to another encoder",
        breaking_store.kill_store_while_it_moves,
        missing=no_server,
        load_goes_on=True,
    ),
    Scenario(
        "store killed",
        "a real Qdrant by kill -9, and started again, over and over",
        breaking_store.kill_store,
        quick=True,
        strikes=breaking.ROUNDS,
        missing=no_server,
        load_goes_on=True,
    ),
    Scenario(
        "replica killed",
        "one of two memory services on one server by kill -9, 25 times, while tasks keep coming",
        breaking_memory.kill_replicas,
        Setup(latency=0.05, replicas=2),
        quick=True,
        strikes=25,
        load_goes_on=True,
    ),
    Scenario(
        "pool full",
        "the embedded pool's folder, for 30 s",
        breaking.fill_disk,
        Setup(embedded=True, disk="pool"),
        missing=no_disk,
    ),
    Scenario("chat 429", "one call in five", breaking.failing(overloaded)),
    Scenario("chat 500", "one call in five", breaking.failing(broken), dies=True),
    Scenario("chat hangs", "one call in five", breaking.failing(hanging), dies=True),
    Scenario("chat cuts off", "one reply in five", breaking.failing(cut_off), dies=True),
    Scenario("chat garbage", "one reply in five", breaking.failing(garbage), dies=True),
    Scenario(
        "chat fails", "one call in five, in any of these ways", breaking.failing(any_of_them), quick=True, dies=True
    ),
    Scenario(
        "hostile messages",
        "500 malformed items in each queue, under load",
        breaking_queues.push_hostile,
        quick=True,
        strikes=breaking_queues.SHAPES,
        hostile=True,
        load_goes_on=True,
    ),
    Scenario(
        "eta flood",
        "1,000 tasks for later in a queue, and its worker killed",
        breaking_queues.flood,
        quick=True,
        strikes=breaking_queues.FLOOD,
        load_goes_on=True,
    ),
    Scenario(
        "sweeper, garbage",
        "garbage in a queue without a worker, and another queue emptied",
        breaking_queues.lose_beside_garbage,
        quick=True,
        hostile=True,
    ),
    Scenario(
        "backup",
        "made 3 times under load, and restored beside into an empty folder, where it goes on",
        breaking_backup.back_up_and_restore,
        Setup(latency=0.05, embedded=True),
        quick=True,
        strikes=3,
        load_goes_on=True,
    ),
    Scenario("clock back", "by ten minutes, then kill -9", breaking.turn_back, Setup(clock=True), missing=no_clock),
    Scenario("SIGSTOP", "one worker of each kind, for 315 s", breaking.stop, Setup(spare=True)),
)
