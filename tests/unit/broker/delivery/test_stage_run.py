"""One run of a stage on a real Redis, without a worker."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
import redis
from celery import Celery
from celery.exceptions import Retry
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from memshare.broker.app import REPR_LENGTH, lists_of, make_app
from memshare.broker.delivery.dead_letters import DeadLetters
from memshare.broker.delivery.entry import Entry
from memshare.broker.delivery.ledger import Ledger
from memshare.broker.delivery.stage import Outcome, Stage
from memshare.broker.delivery.stage_task import StageServices, add_stage
from memshare.broker.errors import GiveUp, TryAgain
from memshare.broker.observe import tracing
from memshare.broker.settings import Settings
from memshare.broker.wire.messages import AgentTask

KEY = "sk-proj-abcdefgh12345678"
BODY: dict[str, Any] = {"prompt": f"A limerick. My key is {KEY}, password=hunter2. " + "Make it rhyme. " * 100}
ENTRY = Entry(id="t1", task="agents.poem", queue="poem", body=BODY, journey="t1", stage="answer")

Work = Callable[[str, AgentTask], Outcome]
RunOnce = Callable[[Work], Any]


class Answered(AgentTask):
    """A record; what is in it does not matter here."""


def outcome(prompt: str) -> Outcome:
    return Outcome(Answered(prompt=prompt), ended="answered")


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

    def run(work: Work) -> Any:
        services = StageServices(ledger, DeadLetters(redis_client, ledger), tries=3, retry_seconds=60)
        name = f"agents.poem.{uuid4()}"  # Celery keeps what it once registered for every app of the process
        add_stage(app, Stage(name, "answer", AgentTask, work, begins=True, has_result=True), lambda: services)
        task = app.tasks[name]
        where = {"exchange": "", "routing_key": "poem", "priority": 3}
        task.push_request(id="t1", args=[BODY], kwargs={}, called_directly=False, delivery_info=where, retries=0)
        try:
            return task.run(BODY)
        finally:
            task.pop_request()

    return run


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """What is traced."""
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "console")
    for cached in (tracing._sdk, tracing._made):
        cached.cache_clear()
    kept = InMemorySpanExporter()
    sdk = tracing._sdk()
    assert sdk is not None
    sdk._provider.add_span_processor(SimpleSpanProcessor(kept))
    yield kept
    tracing.end()
    for cached in (tracing._sdk, tracing._made):
        cached.cache_clear()


def names(spans: InMemorySpanExporter) -> list[str]:
    return sorted(span.name for span in spans.get_finished_spans())


def test_a_try_that_failed_is_sent_again_with_arguments_that_are_short_and_masked(
    run_once: RunOnce, redis_client: redis.Redis
) -> None:
    def busy(_journey: str, _task: AgentTask) -> Outcome:
        raise TryAgain("The model is busy.", wait=1)

    with pytest.raises(Retry):
        run_once(busy)

    (text,) = [text for name in lists_of("poem") for text in redis_client.lrange(name, 0, -1)]
    headers = json.loads(text)["headers"]
    assert headers["id"] == "t1"
    for shown in (headers["argsrepr"], headers["kwargsrepr"]):
        assert KEY not in shown
        assert "hunter2" not in shown
        assert len(shown) <= REPR_LENGTH
    assert headers["argsrepr"].startswith("{'prompt': 'A limerick. My key is …, password=…")


def test_the_run_that_was_first_exports_the_root_of_the_trace(run_once: RunOnce, spans: InMemorySpanExporter) -> None:
    run_once(lambda *_: outcome("mine"))

    assert names(spans) == ["answer poem", "task poem"]


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


def test_a_run_that_is_given_up_exports_the_root(run_once: RunOnce, spans: InMemorySpanExporter) -> None:
    def refused(_journey: str, _task: AgentTask) -> Outcome:
        raise GiveUp("The model refuses.")

    with pytest.raises(GiveUp):
        run_once(refused)

    assert names(spans) == ["answer poem", "task poem"]
