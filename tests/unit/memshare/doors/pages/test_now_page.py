"""What is said of models whose calls fail, and of tasks that wait."""

from __future__ import annotations

import re

from fastapi.testclient import TestClient

from memshare.operations.backend import Backend
from memshare_broker.errors import NotYet
from memshare_broker.wire.messages import Usage
from memshare_llm.limits.usage import UsageLog
from tests.unit.memshare.doors.pages.journey_records import entry, text_of

MODEL = "openai:slow"


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


def test_a_server_that_was_away_is_said_until_a_call_reaches_it(here: TestClient, backend: Backend) -> None:
    calls(backend, away=5)
    assert here.get("/v1/status").json()["failing"] == [f"5 of the last 5 calls of {MODEL} found no server."]

    calls(backend, fit=1)

    assert here.get("/v1/status").json()["failing"] == []


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
