"""Seeds are graded by a provider's batch, by real workers, of which one is killed while it waits."""

from __future__ import annotations

from pathlib import Path

import pytest
import redis

from memshare.learn.bootstrap import StandardAnswer, seed_of
from memshare_broker.connection import connect
from memshare_broker.settings import Settings
from memshare_llm.deferred import BATCHES
from tests.support.batch_server import serving_batches
from tests.support.deployment import deployed, empty, wait_for

MODEL = "openai:scripted"
PENDING = f"memshare:deferred:pending:{MODEL}"
LINES = [
    StandardAnswer(agent="plan", kind="travel", prompt=f"Two days in {town}", answer=f"See {sight}, and walk.")
    for town, sight in {"Rome": "the Forum", "Oslo": "a ski jump", "Lima": "the cliffs", "Kyoto": "a temple"}.items()
]


def soon(client: redis.Redis) -> bool:
    """A worker has its next turn at once; True, so that it can be waited for."""
    client.delete(*client.scan_iter("memshare:deferred:ready:*:turn"), "none")
    return True


@pytest.mark.timeout(200)
def test_seeds_wait_for_their_batch_though_a_worker_is_killed_and_each_is_graded_once(
    redis_folder: Path, tmp_path: Path
) -> None:
    own = Settings(data=redis_folder, model=MODEL)
    empty(redis_folder)
    workers = [["scorer"], ["memory"], ["plan"]]
    with (
        serving_batches() as server,
        deployed(own, server, tmp_path, workers, MEMSHARE_BATCH_API="true", MEMSHARE_LEARN="false") as deployment,
        connect(own.redis) as client,
    ):
        wait_for(lambda: client.exists(f"memshare:deferred:ready:{MODEL}"), 30, "somebody who hands in")
        card = deployment.client.agents()["plan"]
        journeys = [message.journey for message in (seed_of(line, card, "ada") for line in LINES)]
        for line in LINES:
            deployment.client.send(seed_of(line, card, "ada"), keep=True)
        wait_for(lambda: client.zcard(PENDING) == len(LINES), 30, "all to be asked")
        parked = deployment.client.ledger.parked
        wait_for(lambda: len(parked.all()) == len(LINES), 10, "all to wait")
        for call in client.zrange(PENDING, 0, -1):
            client.zadd(PENDING, {str(call): 1})
        wait_for(lambda: soon(client) and server.jobs, 30, "the batch")
        wait_for(lambda: '"job":"batch-1"' in "".join(client.hvals(BATCHES)), 10, "it to be noted")

        killed = deployment.processes.pop(("scorer",))
        killed.kill()
        killed.wait()
        server.end_jobs()
        deployment.start(["scorer"])
        wait_for(lambda: soon(client) and not client.exists(BATCHES), 60, "the replies")

        def ended() -> bool:
            found = deployment.client.outcomes(journeys)
            return len(found) == len(LINES) and all(one.ended for one in found.values())

        wait_for(ended, 60, "all to be remembered")
        found = deployment.client.outcomes(journeys)

    assert {one.outcome for one in found.values()} == {"stored"}
    assert (len(server.jobs), len(server.asked), server.requests) == (1, len(LINES), [])
