from __future__ import annotations

import time

from fastapi.testclient import TestClient

from memshare_memory.curate.requests import NewMemory
from memshare_memory.door.client import MemoryClient
from tests.unit.memshare.doors.conftest import Tokened


def test_each_person_learns_by_themselves_and_a_card_comes_back(shelf: dict[str, str], tokened: Tokened) -> None:
    ada, bob = tokened("ada", "recall"), tokened("bob", "recall")
    first = ada.get("/v1/reviews", params={"pool": "logic"}).json()
    assert (first["person"], first["due"], first["new"]) == ("ada", 0, 1)
    assert first["card"]["memory"]["id"] == shelf["logic"]

    told = ada.post("/v1/reviews", json={"pool": "logic", "memory_id": shelf["logic"], "grade": "easy"}).json()

    assert told["due"] > time.time() + 86_400
    after = ada.get("/v1/reviews", params={"pool": "logic"}).json()
    assert after["card"] is None
    assert after["comes_back"] == told["due"]
    assert sum(after["days"].values()) == 1
    assert bob.get("/v1/reviews", params={"pool": "logic"}).json()["card"]["is_new"]


def test_a_statement_is_no_card(here: TestClient, memory: MemoryClient) -> None:
    [statement] = memory.add([NewMemory(pool="logic", answer="Lamps are hot.", new_pool=True)])

    assert here.get("/v1/reviews", params={"pool": "logic"}).json()["card"] is None
    refused = here.post("/v1/reviews", json={"pool": "logic", "memory_id": str(statement), "grade": "good"})
    assert refused.status_code == 404
