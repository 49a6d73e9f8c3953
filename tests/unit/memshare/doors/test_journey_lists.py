from __future__ import annotations

from fastapi.testclient import TestClient

from tests.unit.memshare.doors.conftest import Tokened

TASK = {"agent": "logic", "prompt": "What has keys?"}


def test_the_journeys_that_began_last_come_first(here: TestClient) -> None:
    ids = [here.post("/v1/tasks", json={**TASK, "prompt": f"riddle {number}"}).json()["id"] for number in range(3)]

    found = here.get("/v1/journeys", params={"limit": 2}).json()["journeys"]

    assert [one["id"] for one in found] == ids[:0:-1]
    assert found[0]["prompt"] == "riddle 2"
    assert here.get("/v1/journeys", params={"agent": "poem"}).json()["journeys"] == []


def test_a_token_lists_its_own_and_with_curate_all_of_its_pools(here: TestClient, tokened: Tokened) -> None:
    here_id = here.post("/v1/tasks", json=TASK).json()["id"]
    ada, curator = tokened("ada", "submit"), tokened("curator", "curate")
    own = ada.post("/v1/tasks", json=TASK).json()["id"]

    assert [one["id"] for one in ada.get("/v1/journeys").json()["journeys"]] == [own]
    assert [one["id"] for one in curator.get("/v1/journeys").json()["journeys"]] == [own, here_id]


def test_a_task_is_given_again_without_memories_and_as_the_callers_own(here: TestClient, tokened: Tokened) -> None:
    first = here.post("/v1/tasks", json={**TASK, "kind": "riddle", "memories": 5}).json()["id"]
    again = here.post(f"/v1/journeys/{first}/again", json={"memories": 0, "remember": False}).json()["id"]

    [there, _] = here.get("/v1/journeys").json()["journeys"]
    assert (there["id"], there["kind"], there["prompt"]) == (again, "riddle", TASK["prompt"])
    assert again != first
    assert tokened("viewer", "curate").post(f"/v1/journeys/{first}/again", json={}).status_code == 403


def test_a_pair_that_somebody_brought_cannot_be_asked_again(here: TestClient) -> None:
    pair = here.post("/v1/pairs", json={**TASK, "answer": "A piano."}).json()["id"]

    refused = here.post(f"/v1/journeys/{pair}/again", json={})

    assert refused.status_code == 422
    assert pair in refused.json()["detail"]
