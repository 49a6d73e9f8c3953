"""The messages that the ledger's scripts push, beside those that Celery sends: on a real Redis, with a plain worker."""

from __future__ import annotations

import gc
import json
import threading
from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest
import redis
from celery import Celery
from celery.contrib.testing.worker import start_worker

from memshare_broker.app import PRIORITY_STEPS, kombu_url, lists_of, make_app
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.delivery.publish import outgoing, publish
from memshare_broker.delivery.schema import MESSAGES, CeleryResult, Entry
from memshare_broker.settings import Settings

FIRST = Entry(id="t1", task="agents.poem", queue="poem", body={"prompt": "x"}, journey="t1", stage="answer")


def following(priority: int = 3) -> Entry:
    body = {"journey": "t1", "prompt": "以秋夜为题 🌕", "answer": "\x00 a 'lamp'\n", "none": None}
    return Entry(
        id="t2", task="scorer.score", queue="scorer", body=body, journey="t1", stage="score", priority=priority
    )


@pytest.fixture
def app(settings: Settings, redis_client: redis.Redis) -> Iterator[Celery]:
    """An app on an empty Redis."""
    assert redis_client.dbsize() == 0
    app = make_app(settings=settings)
    yield app
    app.close()


@pytest.fixture
def plain(settings: Settings) -> Iterator[Celery]:
    """A Celery app that knows nothing of us."""
    url = kombu_url(settings.redis)
    app = Celery("plain", broker=url, backend=url, set_as_current=False)
    app.conf.broker_transport_options = {"priority_steps": list(PRIORITY_STEPS)}
    yield app
    gc.collect()  # results hold a subscription until they are collected
    app.close()


def queued(client: redis.Redis, queue: str) -> dict[str, list[dict[str, Any]]]:
    """The messages of a queue by list."""
    return {name: [json.loads(text) for text in client.lrange(name, 0, -1)] for name in lists_of(queue)}


@pytest.mark.parametrize("priority", range(10))
def test_a_message_that_a_script_pushes_looks_like_one_that_celery_sends(
    app: Celery, redis_client: redis.Redis, priority: int
) -> None:
    publish(app, following(priority))
    sent = queued(redis_client, "scorer")
    redis_client.delete(*lists_of("scorer"))

    Ledger(redis_client, keep_days=1).commit(FIRST, {}, [outgoing(app, following(priority), parent="t1")])

    pushed = queued(redis_client, "scorer")
    (ours,), (theirs,) = (chain(*lists.values()) for lists in (pushed, sent))
    assert ours["properties"].pop("delivery_tag") != theirs["properties"].pop("delivery_tag")
    assert ours["headers"].pop("parent_id") == "t1", "Celery names the parent where a task of a worker sends"
    assert theirs["headers"].pop("parent_id") is None
    assert pushed == sent, "each in the list of its priority"


def test_a_plain_worker_runs_what_a_commit_published(app: Celery, plain: Celery, redis_client: redis.Redis) -> None:
    ran, came = threading.Event(), []

    @plain.task(name="scorer.score")
    def score(body: dict[str, Any]) -> None:
        came.append(body)
        ran.set()

    plain.conf.task_default_queue = "scorer"
    Ledger(redis_client, keep_days=1).commit(FIRST, {}, [outgoing(app, following(), parent="t1")])

    with start_worker(plain, pool="solo", perform_ping_check=False, shutdown_timeout=20, loglevel="WARNING"):
        assert ran.wait(20)

    assert came == [following().body]


def test_a_plain_client_reads_the_result_that_a_commit_stored(
    app: Celery, plain: Celery, redis_client: redis.Redis
) -> None:
    record = {"answer": "一盏灯 🌕"}
    meta = app.backend._get_result_meta(result=record, state="SUCCESS", traceback=None, request=None)
    key, text = app.backend.get_key_for_task("t1").decode(), app.backend.encode(meta | {"task_id": "t1"})

    Ledger(redis_client, keep_days=1).commit(FIRST, record, result=CeleryResult(key, text, 60))

    assert plain.AsyncResult("t1").get(timeout=5) == record


def test_several_messages_may_follow_one(app: Celery, redis_client: redis.Redis) -> None:
    ledger = Ledger(redis_client, keep_days=1)
    ledger.open(FIRST)
    both = [following(), following().model_copy(update={"id": "t3", "queue": "memory", "stage": "settle"})]

    ledger.commit(FIRST, {}, [outgoing(app, one, parent="t1") for one in both])

    assert ledger.open_messages() == {"memory": 1, "poem": 0, "scorer": 1}
    assert set(redis_client.hkeys(MESSAGES)) == {"t2", "t3"}
    for one in both:
        (message,) = chain(*queued(redis_client, one.queue).values())
        assert message["headers"]["id"] == one.id
