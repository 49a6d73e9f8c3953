from __future__ import annotations

import redis
from fastapi.testclient import TestClient

from memshare.doors.backend import Backend
from memshare_broker.wire.comparisons import Compared
from memshare_broker.wire.messages import Usage
from memshare_memory.curate.requests import NewMemory
from memshare_memory.door.client import MemoryClient
from memshare_memory.recall.conflicts import Conflicts
from tests.unit.memshare.doors.conftest import Tokened, bury


def contradictory(memory: MemoryClient, client: redis.Redis) -> list[str]:
    """Two memories of which a model has said that they contradict each other."""
    one, other = memory.add(
        [NewMemory(pool="logic", answer=f"The lamp is {colour}.", new_pool=True) for colour in ("red", "green")]
    )
    compared = Compared(
        memory_id=one, contradicted={other: "Red or green."}, compared=1, model="scripted", usage=Usage()
    )
    Conflicts(client).note("logic", compared, [other])
    return [str(one), str(other)]


def test_a_contradiction_needs_somebody_until_a_person_has_decided(
    here: TestClient, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    ids = contradictory(memory, redis_client)

    [need] = here.get("/v1/needs").json()["needs"]
    assert need["kind"] == "conflict"
    assert need["claims"] == "Red or green."
    assert {one["memory"]["id"] for one in need["memories"]} == set(ids)

    here.post("/v1/conflicts", json={"memories": ids, "contradict": True})
    assert here.get("/v1/needs").json() == {"total": 0, "needs": []}
    assert [one["confirmed"] for one in here.get("/v1/conflicts").json()] == [True]


def test_dead_letters_are_for_who_may_retry_them(here: TestClient, backend: Backend, tokened: Tokened) -> None:
    letter = bury(backend, "logic", "It went wrong.")

    [need] = here.get("/v1/needs").json()["needs"]
    assert need["letter"]["id"] == letter
    assert tokened("viewer", "recall").get("/v1/needs").json()["total"] == 0
    assert tokened("owner", "admin").get("/v1/needs").json()["total"] == 1
    assert tokened("other", "admin", pools=("poem",)).get("/v1/needs").json()["total"] == 0


def test_a_stale_memory_needs_somebody_and_a_hidden_one_does_not(
    here: TestClient, memory: MemoryClient, shelf: dict[str, str]
) -> None:
    for pool, status in (("logic", "stale"), ("poem", "hidden")):
        version = here.get(f"/v1/memories/{shelf[pool]}").json()["version"]
        here.patch(f"/v1/memories/{shelf[pool]}", json={"status": status}, headers={"If-Match": version})

    [need] = here.get("/v1/needs").json()["needs"]
    assert (need["kind"], need["memories"][0]["memory"]["id"]) == ("stale memory", shelf["logic"])
    assert memory.stats().total == 2


def test_the_status_names_open_messages_with_their_queue(here: TestClient, tokened: Tokened) -> None:
    here.post("/v1/tasks", json={"agent": "logic", "prompt": "What has keys?"})

    [queue] = here.get("/v1/status").json()["queues"]
    assert (queue["name"], queue["open"], queue["workers"], queue["waiting"]) == ("logic", 1, 0, [])
    assert tokened("other", "admin", pools=("poem",)).get("/v1/status").json()["queues"] == []
