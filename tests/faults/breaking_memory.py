"""The faults of the memory service: it is killed over and over, and something else takes its place for a while."""

from __future__ import annotations

import random
import signal
import time
from contextlib import ExitStack

from tests.faults.breaking import AWAY
from tests.faults.cluster import Cluster
from tests.faults.impostor import impostor

KILLS = 25
NOTICED_WITHIN = 60.0  # seconds
ANSWERED_WITHIN = 5.0  # seconds that a task may take which knows its memories


def kill_memory(cluster: Cluster, size: float) -> int:
    """The memory service is killed at any moment, and as soon as it is back again.

    Counts the kills that struck: a task was in an agent's hands that found no memory service.
    """
    chance = random.Random(7)
    struck = 0
    for _ in range(max(1, round(KILLS * size))):
        cluster.wait_until_ready()
        time.sleep(chance.uniform(0, 1))
        failed = cluster.failed_for("store")
        cluster.fleet.end("memory", signal.SIGKILL)
        struck += cluster.wait_for(lambda failed=failed: cluster.failed_for("store") > failed, NOTICED_WITHIN)
    cluster.wait_until_ready()
    return struck


def kill_replicas(cluster: Cluster, size: float) -> int:
    """One of the memory services is killed at any moment, then the next one; the other one goes on meanwhile."""
    chance = random.Random(7)
    replicas = [name for name in cluster.fleet.names if name.startswith("memory")]
    struck = 0
    for number in range(max(1, round(KILLS * size))):
        cluster.wait_until_ready()
        time.sleep(chance.uniform(0, 1))
        struck += bool(cluster.open_messages())
        cluster.fleet.end(replicas[number % len(replicas)], signal.SIGKILL)
    cluster.wait_until_ready()
    return struck


def replace_memory(cluster: Cluster, size: float) -> int:
    """The memory service is gone and something else answers at its socket, until it takes its place back.

    Counts the kinds of garbage that agents got; 0 where any of it was good enough for an answer.
    """
    with ExitStack() as there:
        with cluster.fleet.without("memory"):
            other = there.enter_context(impostor(cluster.settings.data))
            time.sleep(ANSWERED_WITHIN)
            answered = cluster.client.ledger.done().get("answer", 0)
            time.sleep(AWAY * size)
            is_fooled = cluster.client.ledger.done().get("answer", 0) > answered
        cluster.wait_until_ready()  # while the other one still listens
    return 0 if is_fooled else len(other.given)
