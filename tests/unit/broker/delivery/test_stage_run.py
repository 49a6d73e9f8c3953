"""One run of a stage on a real Redis, without a worker."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
import redis
from celery import Celery
from celery.exceptions import Ignore, Reject
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from memshare_broker.app import lists_of, make_app
from memshare_broker.delivery.dead_letters import DeadLetters
from memshare_broker.delivery.hops import ANSWER, Hop
from memshare_broker.delivery.journey_records import OutcomeRecord, read_outcomes
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.delivery.publish import LATER, publish
from memshare_broker.delivery.schema import PARKED, Committed, Entry
from memshare_broker.delivery.stage import Outcome, Stage, StageServices, add_stage
from memshare_broker.errors import GiveUp, Reason, TryAgain
from memshare_broker.observe.safe_text import REPR_LENGTH
from memshare_broker.settings import Settings
from memshare_broker.wire.messages import AgentTask, derived_id
from memshare_broker.wire.signing import SIGNATURE, Signer
from tests.support.traced import named, traced

KEY = "sk-proj-abcdefgh12345678"
BODY: dict[str, Any] = {"prompt": f"A limerick. My key is {KEY}, password=hunter2. " + "Make it rhyme. " * 100}
ENTRY = Entry(id="t1", task="agents.poem", queue="poem", body=BODY, journey="t1", stage="answer")

Work = Callable[[str, AgentTask], Outcome]
RunOnce = Callable[..., Any]


class Answered(AgentTask):
    """A record; what is in it does not matter here."""


class Killed(BaseException):
    """Ends a run as if its worker had been killed."""


class KilledAfterCommit(Ledger):
    """A ledger of which the worker does not live to hear that its commit went through."""

    def commit(self, *args: Any, **kwargs: Any) -> Committed:
        super().commit(*args, **kwargs)
        raise Killed


GRADE = Hop("score", "graded", "scorer.score", "scorer", Answered, Answered)


def outcome(prompt: str) -> Outcome:
    return Outcome(Answered(prompt=prompt), ended="answered")


def handed_on(prompt: str) -> Outcome:
    return outcome(prompt)._replace(following=GRADE.next(Answered(prompt=prompt)))


def waiting(client: redis.Redis, queue: str) -> list[dict[str, Any]]:
    return [json.loads(text)["headers"] for name in lists_of(queue) for text in client.lrange(name, 0, -1)]


@pytest.fixture
def ledger(redis_client: redis.Redis) -> Ledger:
    return Ledger(redis_client, keep_days=1)


@pytest.fixture
def app(settings: Settings) -> Iterator[Celery]:
    app = make_app(lambda _: ("poem",), settings)
    yield app
    app.close()


@pytest.fixture
def run_once(app: Celery, redis_client: redis.Redis, ledger: Ledger) -> RunOnce:
    """Runs a stage for the task t1 as a worker does."""

    def run(work: Work, ledger: Ledger = ledger, journey: str = "t1", tries: int = 3, **more: Any) -> Any:
        letters, signer = DeadLetters(redis_client, ledger), Signer((b"secret",))
        services = StageServices(ledger, letters, tries=tries, retry_seconds=60, signer=signer)
        name = f"agents.poem.{uuid4()}"  # Celery keeps what it once registered for every app of the process
        add_stage(
            app,
            Stage(replace(ANSWER, task=name, queue="poem", **more), work),
            lambda: services,
        )
        task = app.tasks[name]
        where = {"exchange": "", "routing_key": "poem", "priority": 3}
        proof = {SIGNATURE: signer.sign(name, "t1", journey, BODY)}
        task.push_request(
            id="t1", args=[BODY], kwargs={}, called_directly=False, delivery_info=where, retries=0, **proof
        )
        try:
            return task.run(BODY)
        finally:
            task.pop_request()

    return run


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """What is traced."""
    with traced(monkeypatch) as kept:
        yield kept


def names(spans: InMemorySpanExporter) -> list[str]:
    return sorted(span.name for span in spans.get_finished_spans())


@pytest.mark.parametrize(
    ("refusal", "letters"), [("MISCONF No space left on device", []), ("WRONGTYPE no list", ["bug"])]
)
def test_what_redis_refuses_for_now_is_run_again_and_a_bug_is_a_dead_letter(
    refusal: str, letters: list[str], run_once: RunOnce, redis_client: redis.Redis, ledger: Ledger
) -> None:
    def refused(_journey: str, _task: AgentTask) -> Outcome:
        raise redis.ResponseError(refusal)

    with suppress(Reject, GiveUp):
        run_once(refused)

    assert [letter.reason for letter in DeadLetters(redis_client, ledger).all()] == letters
    assert ledger.open_messages()["poem"] == 1 - len(letters)


@pytest.mark.parametrize(
    ("reason", "tries"), [("time-out", 5), ("invalid reply", 3), ("cut off", 3), ("model away", 20), ("store", 20)]
)
def test_what_was_paid_for_is_tried_fewer_times_and_an_outage_for_as_long_as_it_lasts(
    reason: Reason, tries: int, run_once: RunOnce, redis_client: redis.Redis, ledger: Ledger
) -> None:
    tried = 0

    def failing(_journey: str, _task: AgentTask) -> Outcome:
        nonlocal tried
        tried += 1
        raise TryAgain("It failed.", reason=reason)

    letters = DeadLetters(redis_client, ledger)
    while tried < 20 and not letters.all():
        with suppress(Ignore, GiveUp):
            run_once(failing, tries=5)

    assert tried == tries
    assert len(letters.all()) == (0 if tries == 20 else 1)


def test_a_call_that_failed_and_is_gone_without_is_among_the_last_errors(run_once: RunOnce, ledger: Ledger) -> None:
    run_once(lambda *_: outcome("mine")._replace(goes_without=TryAgain("No JSON.", reason="invalid reply")))

    assert ledger.failed() == {"invalid reply": 1}
    last = ledger.last_failed()["invalid reply"]
    assert (last["error"], last["journey"]) == ("No JSON.", "t1")
    assert time.time() - last["at"] < 60


def test_a_try_that_failed_waits_beside_its_queue_and_is_sent_again_with_arguments_that_are_short_and_masked(
    run_once: RunOnce, redis_client: redis.Redis, ledger: Ledger, app: Celery
) -> None:
    def busy(_journey: str, _task: AgentTask) -> Outcome:
        raise TryAgain("The model is busy.", wait=3_000)

    with pytest.raises(Ignore):
        run_once(busy)
    assert waiting(redis_client, "poem") == []
    (parked,) = ledger.parked.all()
    assert (parked.id, parked.why) == ("t1", "The model is busy.")
    assert parked.until - time.time() == pytest.approx(60, abs=5), "what is left of the time for tries, and no more"

    redis_client.zadd(PARKED, {"t1": 1})
    for entry in ledger.parked.release(10):
        publish(app, entry)

    (headers,) = waiting(redis_client, "poem")
    assert headers["id"] == "t1"
    for shown in (headers["argsrepr"], headers["kwargsrepr"]):
        assert KEY not in shown
        assert "hunter2" not in shown
        assert len(shown) <= REPR_LENGTH
    assert headers["argsrepr"].startswith("{'prompt': 'A limerick. My key is …, password=…")


def test_the_run_that_was_first_exports_the_root_of_the_trace(run_once: RunOnce, spans: InMemorySpanExporter) -> None:
    run_once(lambda *_: outcome("mine"))

    assert names(spans) == ["answer poem", "invoke_agent poem"]


def test_a_run_that_was_not_first_exports_no_root(
    run_once: RunOnce, spans: InMemorySpanExporter, ledger: Ledger
) -> None:
    def late(_journey: str, _task: AgentTask) -> Outcome:
        ledger.commit(ENTRY, {"prompt": "another's"})
        return outcome("mine")

    assert run_once(late) == {"prompt": "another's"}

    assert names(spans) == ["answer poem"]


def test_a_run_that_is_given_up_after_another_was_through_exports_no_root(
    run_once: RunOnce, spans: InMemorySpanExporter, ledger: Ledger
) -> None:
    def late(_journey: str, _task: AgentTask) -> Outcome:
        ledger.commit(ENTRY, {"prompt": "another's"})
        raise GiveUp("The model refuses.")

    with pytest.raises(GiveUp):
        run_once(late)

    assert names(spans) == ["answer poem"]


def test_a_run_that_is_given_up_exports_the_root_as_failed(run_once: RunOnce, spans: InMemorySpanExporter) -> None:
    def refused(_journey: str, _task: AgentTask) -> Outcome:
        raise GiveUp("The model refuses.", "too long")

    with pytest.raises(GiveUp):
        run_once(refused)

    assert names(spans) == ["answer poem", "invoke_agent poem"]
    root = named(spans, "invoke_agent poem")
    assert root.attributes["error.type"] == "too long"
    assert root.attributes["gen_ai.agent.name"] == "poem"
    assert root.status.status_code is StatusCode.ERROR


def test_a_worker_that_is_killed_right_after_its_commit_leaves_the_next_message_in_its_queue(
    run_once: RunOnce, redis_client: redis.Redis, app: Celery
) -> None:
    with pytest.raises(Killed):
        run_once(lambda *_: handed_on("mine"), KilledAfterCommit(redis_client, keep_days=1))

    assert [one["id"] for one in waiting(redis_client, "scorer")] == [str(derived_id("t1", "score"))]
    assert app.AsyncResult("t1").result["prompt"] == "mine"


def test_two_runs_of_one_message_hand_it_on_once(run_once: RunOnce, redis_client: redis.Redis, ledger: Ledger) -> None:
    def late(_journey: str, _task: AgentTask) -> Outcome:
        run_once(lambda *_: handed_on("the same"))
        return handed_on("the same")

    run_once(late)
    run_once(lambda *_: handed_on("a third"))

    assert len(waiting(redis_client, "scorer")) == 1
    assert ledger.open_messages() == {"poem": 0, "scorer": 1}
    assert ledger.done() == {"answer": 1}


def test_a_result_is_stored_once(run_once: RunOnce, redis_client: redis.Redis, app: Celery) -> None:
    redis_client.config_resetstat()
    key = app.backend.get_key_for_task("t1").decode()

    run_once(lambda *_: outcome("mine"))

    assert redis_client.ttl(key) > 0
    assert redis_client.info("commandstats")["cmdstat_set"]["calls"] == 1


def test_the_fields_that_a_stage_names_and_what_its_outcome_adds_are_kept(
    run_once: RunOnce, redis_client: redis.Redis, ledger: Ledger
) -> None:
    class Asked(Answered):
        question: str
        reason: str = "one that is not kept"

    ledger.open(ENTRY, keep=True)
    asked = Asked(prompt="x", question="A lamp?")

    run_once(lambda *_: Outcome(asked, kept={"outcome": "not verified"}), kept=("question", "error"))

    assert read_outcomes(redis_client, ["t1"])["t1"] == OutcomeRecord(question="A lamp?", outcome="not verified")


def test_the_journey_is_read_where_the_stage_says_even_of_a_message_that_is_wrong(
    run_once: RunOnce, ledger: Ledger
) -> None:
    ledger.open(ENTRY.model_copy(update={"id": "t0", "journey": BODY["prompt"], "begins": True}))

    with pytest.raises(GiveUp, match="ZeroDivisionError"):
        run_once(lambda *_: outcome(str(1 // 0)), journey=BODY["prompt"], journey_at=("prompt",))

    assert ledger.journey(BODY["prompt"])["dead"]["error"] == "ZeroDivisionError: integer division or modulo by zero"


def test_a_task_of_which_redis_takes_no_record_has_ended_for_celery_and_is_open_in_the_ledger(
    run_once: RunOnce, ledger: Ledger, redis_client: redis.Redis
) -> None:
    def fill_up(_journey: str, task: AgentTask) -> Outcome:
        redis_client.config_set("min-replicas-to-write", 1)  # refuses every write, as on a full disk
        return handed_on(task.prompt or "")

    try:
        with pytest.raises(Reject) as goes_back:
            run_once(fill_up)
    finally:
        redis_client.config_set("min-replicas-to-write", 0)

    assert goes_back.value.requeue == LATER
    assert ledger.open_messages() == {"poem": 1}
    assert waiting(redis_client, "scorer") == []
    assert run_once(lambda _, task: handed_on(task.prompt or "")) is not None
    assert ledger.open_messages() == {"poem": 0, "scorer": 1}
