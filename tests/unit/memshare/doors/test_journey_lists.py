from __future__ import annotations

import re
import time

import redis
from fastapi.testclient import TestClient

from memshare.operations.backend import Backend
from memshare_broker.app import lists_of
from memshare_broker.delivery.hops import ANSWER, OFFER
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.delivery.schema import open_key, trace_key
from memshare_broker.presence import Presence, announce
from memshare_broker.wire.grades import OfferedPair
from memshare_broker.wire.messages import AgentTask, Answer, Usage
from tests.support.deployment import ROOT
from tests.unit.memshare.doors.conftest import Tokened
from tests.unit.memshare.doors.pages.journey_records import answered, graded

TASK = {"agent": "logic", "prompt": "What has keys?"}


def test_the_journeys_that_began_last_come_first(here: TestClient) -> None:
    ids = [here.post("/v1/tasks", json={**TASK, "prompt": f"riddle {number}"}).json()["id"] for number in range(3)]

    found = here.get("/v1/journeys", params={"limit": 2}).json()["journeys"]

    assert [one["id"] for one in found] == ids[:0:-1]
    assert found[0]["prompt"] == "riddle 2"
    assert here.get("/v1/journeys", params={"agent": "poem"}).json()["journeys"] == []


def test_a_journey_in_a_list_says_what_it_says_alone_but_for_what_the_docs_name(
    here: TestClient, backend: Backend
) -> None:
    answered(backend)
    graded(backend, "t1", 90)
    pair = OfferedPair(agent="logic", pool="logic", rubric="logic", prompt="?" * 500, answer="!" * 500)
    backend.client.ledger.open(OFFER.next(pair, "t2").entry())
    [told] = re.findall(r"that alone has (.*?) \|", (ROOT / "docs/doors.md").read_text())

    rows = {one["id"]: one for one in here.get("/v1/journeys").json()["journeys"]}
    whole = here.get("/v1/journeys/t1").json()

    assert rows["t1"] == {name: whole[name] for name in rows["t1"]}
    assert (rows["t1"]["pool"], rows["t1"]["answer"]) == ("logic", whole["answer"])
    assert whole.keys() - rows["t1"].keys() == {*re.findall(r"`(\w+)`", told)}
    assert [len(rows["t2"][name]) for name in ("prompt", "answer")] == [300, 300]


def test_a_lost_task_says_in_a_list_too_when_it_is_sent_again(here: TestClient, redis_client: redis.Redis) -> None:
    task = here.post("/v1/tasks", json=TASK).json()["id"]
    redis_client.delete(*lists_of("logic"))
    redis_client.zadd(open_key("logic"), {task: time.time() - 30})

    [listed] = here.get("/v1/journeys").json()["journeys"]

    assert "sent again at" in listed["waits"]
    assert listed["waits"] == here.get(f"/v1/journeys/{task}").json()["waits"]


def test_a_task_for_an_agent_that_does_not_run_here_is_refused_until_a_worker_has_it(
    backend: Backend, here: TestClient, redis_client: redis.Redis
) -> None:
    before = here.post("/v1/tasks", json=TASK).json()["id"]
    backend.agents = ["poem"]

    refused = [here.post("/v1/tasks", json=TASK), here.post(f"/v1/journeys/{before}/again", json={})]
    taken = here.post("/v1/tasks", json={**TASK, "agent": "poem"})
    announce(redis_client, Presence(node="logic@here", pid=1, incarnation="1", queues=("logic",)))
    there = here.post("/v1/tasks", json=TASK)

    assert [one.status_code for one in refused] == [404, 404]
    assert all("'logic' does not run here. There are: poem." in one.json()["detail"] for one in refused)
    assert (taken.status_code, there.status_code) == (202, 202)


def test_a_token_lists_its_own_and_with_curate_all_of_its_pools(here: TestClient, tokened: Tokened) -> None:
    here_id = here.post("/v1/tasks", json=TASK).json()["id"]
    ada, curator = tokened("ada", "submit"), tokened("curator", "curate")
    own = ada.post("/v1/tasks", json=TASK).json()["id"]

    assert [one["id"] for one in ada.get("/v1/journeys").json()["journeys"]] == [own]
    assert [one["id"] for one in curator.get("/v1/journeys").json()["journeys"]] == [own, here_id]


def test_the_first_digits_of_an_id_find_a_journey_and_a_memory_of_the_callers_own(
    here: TestClient, tokened: Tokened, shelf: dict[str, str]
) -> None:
    task_id = here.post("/v1/tasks", json={**TASK, "prompt": "What has hands?"}).json()["id"]

    found = here.get(f"/v1/journeys/{task_id[:8]}", params={"wait": 0}).json()
    page, memory = here.get(f"/journeys/{task_id[:8]}"), here.get(f"/memories/{shelf['logic'][:8]}")
    cancelled = here.delete(f"/v1/journeys/{task_id[:8]}").json()

    assert (found["id"], cancelled["id"]) == (task_id, task_id)
    assert (page.status_code, memory.status_code) == (200, 200)
    assert (f"/journeys/{task_id}/cancel" in page.text, "A light." in memory.text) == (True, True)
    assert here.get(f"/v1/journeys/{task_id[:7]}").status_code == 404
    assert tokened("viewer", "submit").get(f"/v1/journeys/{task_id[:8]}").status_code == 404


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


def test_a_journey_whose_details_are_gone_says_so_by_rest_and_on_the_page(
    here: TestClient, redis_client: redis.Redis
) -> None:
    task_id = here.post("/v1/tasks", json=TASK).json()["id"]
    entry = ANSWER.of("logic").next(AgentTask(prompt=TASK["prompt"], submitter="anonymous"), task_id).entry()
    record = Answer(
        task_id=task_id, agent="logic", kind=None, answer="A piano.", model="scripted", memories=(),
        retriever_version=0, usage=Usage(), seconds=0.1,
    )  # fmt: skip
    Ledger(redis_client, keep_days=7, traces_days=1).commit(entry, record.model_dump(mode="json"), details=("steps",))
    assert not here.get(f"/v1/journeys/{task_id}").json()["details_dropped"]

    redis_client.delete(trace_key(task_id))  # as it ends by itself

    found = here.get(f"/v1/journeys/{task_id}").json()
    page = here.get(f"/journeys/{task_id}")
    assert (found["details_dropped"], found["answer"], found["hops"]) == (True, "A piano.", {})
    assert page.status_code == 200
    assert "Its details were kept for a day" in page.text
    assert "to come" not in page.text
