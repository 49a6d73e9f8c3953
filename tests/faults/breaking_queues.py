"""The faults that others bring into the queues: what is no message, too much for later, and garbage beside losses."""

from __future__ import annotations

import signal
import time

from celery import Celery

from memshare_broker.app import kombu_url, lists_of
from tests.faults.cluster import KINDS, LEASE, Cluster
from tests.support.message_shapes import shapes

SHAPES = 500
TASKS = {
    "poem": "agents.poem",
    "logic": "agents.logic",
    "scorer": "scorer.score",
    "memory": "memory_service.settle",
    "trainer": "retriever_trainer.learn",
}
FLOOD, DUE_IN = 1_000, 45  # tasks; seconds
ANSWERED_WITHIN = 30.0  # seconds, though so many wait: before they are due
OVER_WITHIN = 300.0  # seconds
GARBAGE = (b"caf\xe9", b"{", b"null", b"[1, 2]", b'{"headers": []}', b"[" * 9_000)


def push_hostile(cluster: Cluster, size: float) -> int:
    """Every kind of worker gets 500 items, one after the other, none of which its queue should have.

    Counts those that are dead letters: the others were tasks all the same.
    """
    hostile = [shapes(round(SHAPES * size), name, TASKS[name]) for name in KINDS]
    for some in zip(*hostile, strict=True):
        for name, shape in zip(KINDS, some, strict=True):
            cluster.direct.lpush(name, shape.raw)
        time.sleep(0.01)
    lists = [place for name in KINDS for place in lists_of(name)]
    cluster.wait_for(lambda: not cluster.direct.exists(*lists), OVER_WITHIN)
    return len(cluster.client.dead_letters.all())


def flood(cluster: Cluster, size: float) -> int:
    """Tasks that are to run later fill a queue, and its worker is killed; others are answered at once all the same.

    Counts the tasks that were answered, when their time had come; 0 where another one had to wait.
    """
    sender = Celery("flood", broker=kombu_url(cluster.settings.redis), set_as_current=False)
    sent = []
    with sender.producer_or_acquire() as producer:
        for number in range(round(FLOOD * size)):
            options = {"queue": "poem", "countdown": DUE_IN, "producer": producer}
            sent.append(sender.send_task("agents.poem", [{"prompt": f"Later: {number}."}], **options).id)
    sender.close()
    for round_ in range(2):
        other = cluster.client.submit("poem", f"At once, whatever waits: {round_}.", priority=0).id
        if not cluster.wait_for(lambda other=other: "answer" in cluster.client.ledger.journey(other), ANSWERED_WITHIN):
            return 0
        if round_ == 0:
            killed = cluster.fleet.pid("poem")
            cluster.fleet.end("poem", signal.SIGKILL)
            cluster.wait_for(lambda killed=killed: cluster.fleet.pid("poem") != killed, ANSWERED_WITHIN)
            cluster.wait_until_ready()
    answered = [one for one in sent if "answer" in cluster.client.ledger.journey(one)]
    if answered:
        return 0  # before their time
    left = set(sent)

    def all_answered() -> bool:
        left.difference_update([one for one in left if "answer" in cluster.client.ledger.journey(one)])
        return not left

    cluster.wait_for(all_answered, OVER_WITHIN)
    return len(sent) - len(left)


def lose_beside_garbage(cluster: Cluster, _size: float) -> int:
    """One queue has no worker and garbage in it, and all that waits in another is taken away.

    Counts what was lost, once it has been sent again and answered while the garbage was still there; else 0.
    """
    with cluster.fleet.without("logic"):
        cluster.direct.rpush("logic", *GARBAGE)
        lists = lists_of("poem")
        lost = sum(cluster.direct.llen(place) for place in lists)
        cluster.direct.delete(*lists)
        again = cluster.wait_for(
            lambda: cluster.client.ledger.open_messages().get("poem") == 0, ANSWERED_WITHIN + 4 * LEASE
        )
        still_there = cluster.direct.llen("logic") >= len(GARBAGE)
    cluster.wait_until_ready()
    cluster.wait_for(lambda: not cluster.direct.exists("logic"), OVER_WITHIN)
    return lost if again and still_there else 0
