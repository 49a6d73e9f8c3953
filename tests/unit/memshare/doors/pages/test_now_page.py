"""What is said of models whose calls fail, and of tasks that wait."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing

import pytest
from fastapi.testclient import TestClient

from memshare.doors.server import rest_app
from memshare.operations.backend import Backend
from memshare_broker.delivery.dead_letters import letter_for
from memshare_broker.errors import GiveUp, NotYet
from memshare_broker.presence import AgentCard, Presence, announce
from memshare_broker.wire.messages import Cancellation
from memshare_llm.limits.concurrency import Permit, ServerLimit
from tests.unit.memshare.doors.conftest import Tokened
from tests.unit.memshare.doors.pages.journey_records import answered, entry, text_of

MODEL = "openai:slow"
CARD = AgentCard(name="logic", kinds=(), model=MODEL, pool="logic")


def calls(backend: Backend, **ended: int) -> None:
    server = ServerLimit(backend.redis, "http://127.0.0.1:1/v1", MODEL, "answers", timeout=10)
    for outcome, number in ended.items():
        for _ in range(number):
            server.leave(Permit("call", f"{MODEL}\x1fanswers\x1ftext", 1, overdue=False, joined=0), outcome, 1.0)


def test_now_is_red_while_calls_fail_and_says_how_many_did(here: TestClient, backend: Backend) -> None:
    calls(backend, fit=20, slow=2, yielded=30)
    assert "last" not in text_of(here.get("/now").text).split("Answers a minute")[0]

    calls(backend, slow=2)

    page = here.get("/now").text
    assert here.get("/v1/status").json()["failing"] == [f"4 of the last 6 calls of {MODEL} timed out."]
    assert f"4 of the last 6 calls of {MODEL} timed out." in text_of(page)
    assert '<div class="alarm"><dt>Model' in page

    calls(backend, refused=1)
    [said] = here.get("/v1/status").json()["failing"]
    assert said == f"5 of the last 6 calls of {MODEL} failed; the latest was over its rate limit."


def test_the_last_errors_are_the_latest_of_each_kind_with_their_count(here: TestClient, backend: Backend) -> None:
    ledger = backend.client.ledger
    for name in ("t1", "t2", "t3"):
        ledger.open(entry(name, "answer"))
        ledger.fail(entry(name, "answer"), "content filter", why=f"It refuses {name}.")
        refused = GiveUp(f"It refuses {name}.", "content filter")
        backend.client.dead_letters.add(letter_for(entry(name, "answer"), refused, tries=1))
    for number in range(6):
        ledger.fail(entry("t4", "answer"), "time-out", why=f"It timed out at try {number}.")

    said = text_of(here.get("/now").text).split("Last errors")[1]

    assert said.index("time-out 6") < said.index("It timed out at try 5.") < said.index("content filter 3")
    assert (said.count("It timed out"), said.count("It refuses")) == (1, 1)
    assert "It refuses t3." in said


def test_what_was_given_up_or_cancelled_is_no_answer_of_the_last_minute(here: TestClient, backend: Backend) -> None:
    answered(backend, journey="t1")
    for name in ("t2", "t3"):
        backend.client.ledger.open(entry(name, "answer"))
    backend.client.dead_letters.add(letter_for(entry("t2", "answer"), GiveUp("It refuses."), tries=1))
    backend.client.ledger.cancel(entry("t3", "answer"), Cancellation(at=1.0, why="No more."))
    for key in list(backend.redis.scan_iter("memshare:pace:*")):
        of, _, minute = str(key).rpartition(":")
        backend.redis.rename(key, f"{of}:{int(minute) - 1}")

    told = here.get("/v1/status").json()

    assert told["answers_a_minute"] == 1
    assert {one["name"]: one["a_minute"] for one in told["queues"]}["logic"] == 3


def test_calls_that_wait_for_a_server_are_told_with_how_many_it_is_given(here: TestClient, backend: Backend) -> None:
    server = ServerLimit(backend.redis, "http://127.0.0.1:1/v1", MODEL, "answers", timeout=10)
    first = server.enter("first", "text")
    assert first
    server.leave(first, "fit", 0.1)
    begun = [server.enter(f"call {at}", "text") for at in range(3)]
    said = "1 call waits for http://127.0.0.1:1/v1, which is given 2 at once for now."

    assert [bool(permit) for permit in begun] == [True, True, False]
    assert here.get("/v1/status").json()["busy"] == [said]
    assert said in text_of(here.get("/now").text)


def test_a_server_that_was_away_is_said_until_a_call_reaches_it(here: TestClient, backend: Backend) -> None:
    calls(backend, away=5)
    assert here.get("/v1/status").json()["failing"] == [f"5 of the last 5 calls of {MODEL} found no server."]

    calls(backend, fit=1)

    assert here.get("/v1/status").json()["failing"] == []


def test_what_waits_for_the_same_limit_is_one_line_whatever_numbers_are_said(
    here: TestClient, backend: Backend
) -> None:
    for at, (model, seconds) in enumerate((("gpt-4", "8.21s"), ("gpt-4", "340ms"), ("gpt-5", "8.21s"))):
        waiting = entry(f"t{at}", "answer")
        backend.client.ledger.open(waiting)
        why = f"openai:{model} answered 429: Limit 500, Used 500. Please try again in {seconds}."
        backend.client.ledger.park(waiting, NotYet(why, 240 + at, hold="rate limit"))

    said = text_of(here.get("/now").text)

    assert "logic : 2 tasks. openai:gpt-4 answered 429: Limit 500, Used 500. Please try again in 8.21s. Due" in said
    assert "logic : 1 task. openai:gpt-5 answered 429" in said


@pytest.mark.parametrize("why", ["A model is being asked about it.", "A model is being asked about it"])
def test_what_waits_says_why_and_in_how_long_it_is_due(here: TestClient, backend: Backend, why: str) -> None:
    waiting = entry("t1", "answer")
    backend.client.ledger.open(waiting)
    backend.client.ledger.park(waiting, NotYet(why, 240, hold="batch"))

    said = "What waits, and why logic : 1 task. A model is being asked about it. Due in 4 min , but no worker serves it"
    assert said in text_of(here.get("/now").text)


def test_what_is_due_says_that_it_waits_for_a_worker(here: TestClient, backend: Backend) -> None:
    waiting = entry("t1", "answer")
    backend.client.ledger.open(waiting)
    backend.client.ledger.park(waiting, NotYet("The cap is used up.", 240, hold="agent logic"))
    backend.client.ledger.parked.lift("agent logic")

    assert "The cap is used up. Due, but no worker serves it" in text_of(here.get("/now").text)

    announce(backend.redis, Presence(node="one", pid=1, incarnation="a", queues=("logic",), agents=(CARD,)))
    assert "The cap is used up. Due: a worker takes it up" in text_of(here.get("/now").text)


def test_now_is_red_while_redis_is_full_and_says_what_still_works(here: TestClient, backend: Backend) -> None:
    backend.redis.config_set("maxmemory", 1)
    try:
        shown = here.get("/now")
    finally:
        backend.redis.config_set("maxmemory", 0)

    assert shown.status_code == 200
    assert '<div class="alarm"><dt>Model' in shown.text
    said = text_of(shown.text)
    assert "Redis takes no writes, as it is full" in said
    assert "can be read. Make room for it" in said


def test_tasks_that_are_all_set_aside_are_not_called_new(here: TestClient, backend: Backend) -> None:
    waiting = entry("t1", "answer")
    backend.client.ledger.open(waiting)
    backend.client.ledger.park(waiting, NotYet("A model is being asked about it.", 240, hold="batch"))

    assert re.search(r'data-name="Oldest" class="num">set aside<', here.get("/now").text)


STARTING, AWAY = "Starting: the memory service has not answered yet.", "The memory service is away."


@pytest.fixture
def alone(backend: Backend) -> Iterator[Backend]:
    """A deployment whose memory service has never answered."""
    nowhere = backend.settings.model_copy(update={"memory_url": "http://127.0.0.1:9"})
    with closing(Backend(nowhere)) as made:
        yield made


def visitor(backend: Backend) -> TestClient:
    app = rest_app(backend)
    app.state.is_same_user = lambda *_: True  # there is no connection that a kernel would know
    return TestClient(app, base_url="http://127.0.0.1", client=("127.0.0.1", 50_000))


def test_a_deployment_that_starts_is_not_red_until_it_should_have_started(
    alone: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone.client.ledger.open(entry("t1", "answer"))

    page = visitor(alone).get("/now").text

    assert STARTING in text_of(page)
    assert "The memory service is starting." in text_of(page)
    assert "<dd>starting</dd>" in page
    assert "bad-text" not in page
    assert 'id="connection" class="notice"' in page
    early = visitor(alone).get("/pool", headers={"accept": "text/html"})
    assert (early.status_code, STARTING in text_of(early.text)) == (503, True)
    assert "data-again" in early.text
    assert 'aria-label="Screens"' in early.text, "with the menu"
    assert f'<p class="notice">{STARTING}' in early.text

    monkeypatch.setattr("memshare.operations.backend.STARTS_WITHIN", 0.0)
    page = visitor(alone).get("/now").text
    assert AWAY in text_of(page)
    assert "The memory service does not answer at http://127.0.0.1:9" in text_of(page)
    assert 'id="connection" class="notice bad"' in page
    assert "<dd>no worker</dd>" in page


def test_what_has_answered_once_starts_no_more(here: TestClient, backend: Backend) -> None:
    assert backend.is_starting
    assert AWAY not in text_of(here.get("/now").text)
    assert not backend.is_starting


def test_who_sees_one_pool_is_not_told_that_no_worker_is_there(tokened: Tokened) -> None:
    page = text_of(tokened("ada", "recall").get("/now").text)

    assert "No worker is there" not in page
    assert "Who may see all pools is shown the workers." in page


def test_calls_that_failed_are_not_of_workers(here: TestClient, backend: Backend) -> None:
    calls(backend, slow=43)
    announce(backend.redis, Presence(node="one", pid=1, incarnation="a", queues=("logic",), agents=(CARD,)))

    said = text_of(here.get("/now").text)

    assert f"6 of the last 6 calls of {MODEL} timed out. 1 worker" in said
