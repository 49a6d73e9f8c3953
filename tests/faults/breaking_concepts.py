"""The fault of the worker that names concepts: it is killed over and over while many memories wait for theirs."""

from __future__ import annotations

import random
import signal
import time

from memshare_broker.app import CONCEPTS_QUEUE
from memshare_memory.curate.requests import NewMemory
from tests.faults.cluster import Cluster

MEMORIES, FEWEST = 300, 60
NAMED_WITHIN = 600.0  # seconds


def kill_worker(cluster: Cluster, size: float) -> int:
    """Many memories are brought in, and their worker is killed at any moment, and as soon as it is back again.

    Counts the kills that struck: memories waited for their concepts.
    """
    chance = random.Random(7)
    facts = [f"Fact {number}: {chance.getrandbits(64):x}" for number in range(max(FEWEST, round(MEMORIES * size)))]
    cluster.client.memories.add([NewMemory(pool="facts", answer=fact, new_pool=True) for fact in facts])
    struck = 0
    deadline = time.monotonic() + NAMED_WITHIN
    while time.monotonic() < deadline and _waiting(cluster):
        cluster.fleet.end(CONCEPTS_QUEUE, signal.SIGKILL)
        struck += 1
        cluster.wait_until_ready()
        time.sleep(chance.uniform(0.2, 1))
    return struck


def _waiting(cluster: Cluster) -> int:
    return cluster.client.ledger.open_messages().get(CONCEPTS_QUEUE, 0)
