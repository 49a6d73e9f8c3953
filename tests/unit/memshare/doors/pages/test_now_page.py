"""What is said of models whose calls fail, and of tasks that wait."""

from __future__ import annotations

import re

from fastapi.testclient import TestClient

from memshare.operations.backend import Backend
from memshare_broker.errors import NotYet
from memshare_broker.presence import AgentCard, Presence, announce
from memshare_broker.wire.messages import Usage
from memshare_llm.limits.usage import UsageLog
from tests.unit.memshare.doors.conftest import Tokened
from tests.unit.memshare.doors.pages.journey_records import entry, text_of

MODEL = "openai:slow"
CARD = AgentCard(name="logic", kinds=(), model=MODEL, pool="logic")


def calls(backend: Backend, **ended: int) -> None:
    log = UsageLog(backend.redis)
    for outcome, number in ended.items():
        for _ in range(number):
            log.ended(MODEL, "answers", outcome, 1.0, Usage())
    log.flush()


def test_now_is_red_while_calls_fail_and_says_how_many_did(here: TestClient, backend: Backend) -> None:
    calls(backend, fit=20, slow=2, yielded=30)
    assert "last" not in text_of(here.get("/now").text).split("Answers a minute")[0]

    calls(backend, slow=43)

    page = here.get("/now").text
    assert here.get("/v1/status").json()["failing"] == [f"45 of the last 65 calls of {MODEL} timed out."]
    assert f"45 of the last 65 calls of {MODEL} timed out." in text_of(page)
    assert '<div class="alarm"><dt>Model' in page

    calls(backend, refused=1)
    [said] = here.get("/v1/status").json()["failing"]
    assert said == f"46 of the last 66 calls of {MODEL} failed."


def test_what_waits_says_why_and_in_how_long_it_is_due(here: TestClient, backend: Backend) -> None:
    waiting = entry("t1", "answer")
    backend.client.ledger.open(waiting)
    backend.client.ledger.park(waiting, NotYet("A model is being asked about it.", 240, hold="batch"))

    said = "What waits, and why logic : 1 task. A model is being asked about it. Due in 4 min"
    assert said in text_of(here.get("/now").text)


def test_tasks_that_are_all_set_aside_are_not_called_new(here: TestClient, backend: Backend) -> None:
    waiting = entry("t1", "answer")
    backend.client.ledger.open(waiting)
    backend.client.ledger.park(waiting, NotYet("A model is being asked about it.", 240, hold="batch"))

    assert re.search(r'data-name="Oldest" class="num">set aside<', here.get("/now").text)


def test_who_sees_one_pool_is_not_told_that_no_worker_is_there(tokened: Tokened) -> None:
    page = text_of(tokened("ada", "recall").get("/now").text)

    assert "No worker is there" not in page
    assert "Who may see all pools is shown the workers." in page


def test_calls_that_failed_are_not_of_workers(here: TestClient, backend: Backend) -> None:
    calls(backend, slow=43)
    announce(backend.redis, Presence(node="one", pid=1, incarnation="a", queues=("logic",), agents=(CARD,)))

    said = text_of(here.get("/now").text)

    assert f"43 of the last 43 calls of {MODEL} timed out. 1 worker" in said
