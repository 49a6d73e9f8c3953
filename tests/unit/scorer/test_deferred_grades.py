"""Grades that wait for a batch: their messages fail no try, become no dead letters, and are graded once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
import redis
from celery import Celery
from celery.exceptions import Ignore

from memshare_broker.app import make_app
from memshare_broker.delivery.dead_letters import DeadLetters
from memshare_broker.delivery.hops import SCORE
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.delivery.schema import PARKED
from memshare_broker.delivery.stage import Stage, StageServices, add_stage
from memshare_broker.settings import Settings
from memshare_broker.wire.messages import LOWEST_PRIORITY, USUAL_PRIORITY
from memshare_broker.wire.signing import SIGNATURE, Signer
from memshare_broker.worker import WorkerPart
from memshare_llm.build import open_deferred, open_limited, open_metering
from memshare_llm.deferred import CALL, DeferredCalls, deferring
from memshare_llm.limits.budget import Prices
from memshare_llm.limits.usage import UsageLog
from memshare_llm.models import open_batch_api
from memshare_scorer.tasks import ScoreStage
from memshare_scorer.worker import part as scorer
from memshare_trainer.worker import part as trainer
from tests.support.answered import a_seed
from tests.support.batch_server import BatchServer, serving_batches

MODEL = "openai:scripted"
SEED = a_seed("plan").model_copy(update={"kind": "travel"})
ID = SCORE.id_in(SEED.journey)

Run = Callable[[int], Any]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[BatchServer]:
    with serving_batches() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        open_deferred.cache_clear()  # one of another server
        yield server


@pytest.fixture
def usage(redis_client: redis.Redis) -> UsageLog:
    return UsageLog(redis_client)


@pytest.fixture
def calls(redis_client: redis.Redis, usage: UsageLog, server: BatchServer) -> DeferredCalls:  # noqa: ARG001
    api = open_batch_api(MODEL, timeout=10)
    assert api is not None
    return DeferredCalls(redis_client, api, usage, Prices(), gather=0, every=0.001)


@pytest.fixture
def app(settings: Settings) -> Iterator[Celery]:
    app = make_app(lambda _: ("scorer",), settings)
    yield app
    app.close()


@pytest.fixture
def ledger(redis_client: redis.Redis) -> Ledger:
    return Ledger(redis_client, keep_days=1)


@pytest.fixture
def run(app: Celery, settings: Settings, calls: DeferredCalls, redis_client: redis.Redis, ledger: Ledger) -> Run:
    """Runs the scorer for one seed as a worker does, with the priority of its message."""
    chat, metering = open_limited(settings, MODEL, "grades", connections=2), open_metering(settings)
    stage = ScoreStage(chat, None, 1, lambda _: None, metering, metering_later=deferring(metering, calls, SCORE))
    signer = Signer((b"secret",))
    services = StageServices(ledger, DeadLetters(redis_client, ledger), tries=3, retry_seconds=60, signer=signer)

    def once(priority: int) -> Any:
        name, body = f"scorer.score.{uuid4()}", SEED.model_dump(mode="json")
        add_stage(app, Stage(replace(SCORE, task=name), stage.run), lambda: services)
        task = app.tasks[name]
        proof = {SIGNATURE: signer.sign(name, ID, SEED.journey, body)}
        where = {"exchange": "", "routing_key": "scorer", "priority": priority}
        task.push_request(id=ID, args=[body], kwargs={}, called_directly=False, delivery_info=where, retries=0, **proof)
        try:
            return task.run(body)
        finally:
            task.pop_request()

    return once


def test_a_grade_that_waits_for_a_batch_fails_no_try_and_is_made_once(
    run: Run, calls: DeferredCalls, server: BatchServer, redis_client: redis.Redis, ledger: Ledger, usage: UsageLog
) -> None:
    calls.take_turn()
    for _ in range(5):
        with pytest.raises(Ignore):
            run(LOWEST_PRIORITY)
    (parked,) = ledger.parked.all()
    assert parked.why.startswith(f"Its call is of the next batch of {MODEL}")
    assert (ledger.failed(), DeadLetters(redis_client, ledger).all()) == ({}, [])

    redis_client.delete(*redis_client.scan_iter("*:turn"), "none")
    calls.take_turn()
    with pytest.raises(Ignore):
        run(LOWEST_PRIORITY)
    server.end_jobs()
    redis_client.delete(*redis_client.scan_iter("*:turn"), "none")
    calls.take_turn()
    assert redis_client.zscore(PARKED, ID) == 0, "woken"
    redis_client.zrem(PARKED, ID)
    run(LOWEST_PRIORITY)
    run(LOWEST_PRIORITY)

    record = ledger.journey(SEED.journey)["score"]
    assert (record["accepted"], record["model"]) == (True, MODEL)
    assert (len(server.asked), server.requests) == (1, [])
    assert usage.used([("submitter", "ada")])[0].calls == 1
    assert (ledger.failed(), DeadLetters(redis_client, ledger).all()) == ({}, [])


def test_what_somebody_may_wait_for_is_graded_at_once(run: Run, calls: DeferredCalls, server: BatchServer) -> None:
    calls.take_turn()

    run(USUAL_PRIORITY)

    assert len(server.requests) == 1


@pytest.mark.parametrize("part", [scorer, trainer], ids=["scorer", "trainer"])
def test_workers_hand_in_what_was_asked_where_the_settings_say_so(
    part: WorkerPart, calls: DeferredCalls, settings: Settings, server: BatchServer, redis_client: redis.Redis
) -> None:
    settings = settings.model_copy(update={"consolidate": False})
    queues = part.queues(settings)
    part.pulse(settings, queues)
    assert list(redis_client.scan_iter("memshare:deferred:*")) == []

    own = settings.model_copy(update={"model": MODEL, "batch_api": True})
    part.pulse(own, queues)
    [ready] = redis_client.scan_iter("memshare:deferred:ready:*scripted")
    redis_client.zadd(f"memshare:deferred:pending:{MODEL}", {"a-call": 1})
    redis_client.hset(f"{CALL}a-call", mapping={"body": '{"model": "scripted", "messages": []}', "message": "m"})
    redis_client.delete(f"{ready}:turn")
    part.pulse(own, queues)

    assert [body["messages"] for body in server.asked] == [[]]
    assert calls.api.name == MODEL
