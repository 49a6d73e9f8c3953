"""A real worker in a thread of this process, and what it asks of Redis for each message."""

from __future__ import annotations

import functools
import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from celery import Celery
from celery.contrib.testing.worker import start_worker

from memshare_broker.app import make_app
from memshare_broker.delivery.dead_letters import DeadLetters
from memshare_broker.delivery.hops import Hop
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.delivery.publish import publish
from memshare_broker.delivery.schema import INCARNATIONS, MESSAGES, UNACKED, Entry
from memshare_broker.delivery.stage import Outcome, Stage, StageServices, add_stage
from memshare_broker.errors import GiveUp
from memshare_broker.settings import Settings
from memshare_broker.wire.messages import Message
from memshare_broker.wire.signing import Signer
from tests.support.deployment import wait_for

MANY = 30
SIGNER = Signer((b"one for all apps",))  # Celery keeps what it once registered for every app of the process

Run = Callable[[str, "Word"], Outcome]


class Word(Message):
    """A message and a record."""

    word: str
    journey: str | None = None


FIRST = Hop("first", "first", "early", "noop", Word, Word, (), begins=True, from_outside=True, has_result=True)
SECOND = Hop("second", "second", "late", "noop", Word, Word)


def hand_on(journey: str, message: Word) -> Outcome:
    return Outcome(Word(word=message.word), SECOND.next(Word(word=message.word, journey=journey)))


def end(_journey: str, message: Word) -> Outcome:
    return Outcome(message)


@pytest.fixture
def app(settings: Settings, redis_client: redis.Redis) -> Iterator[Celery]:
    """An app with two stages that do nothing."""
    app = make_app(lambda _: ["noop"], settings.model_copy(update={"concurrency": 4}))
    ledger = Ledger(redis_client, keep_days=1)
    services = StageServices(ledger, DeadLetters(redis_client, ledger), tries=3, retry_seconds=60, signer=SIGNER)
    add_stage(app, Stage(FIRST, hand_on), lambda: services)
    add_stage(app, Stage(SECOND, end), lambda: services)
    yield app
    gc.collect()  # results hold a subscription until they are collected
    app.close()


def entry(number: int) -> Entry:
    name = f"t{number}"
    return FIRST.next(Word(word=name), name).entry()


def calls(client: redis.Redis, *commands: str) -> list[int]:
    """How often Redis was told each of these commands."""
    stats = client.info("commandstats")
    return [stats.get(f"cmdstat_{command}", {"calls": 0})["calls"] for command in commands]


@pytest.mark.parametrize("pool", ["threads", "solo"])
def test_a_message_is_taken_begun_and_ended_with_a_round_trip_each(
    app: Celery, redis_client: redis.Redis, pool: str
) -> None:
    ledger = Ledger(redis_client, keep_days=1)
    for number in range(MANY):
        ledger.open(entry(number))
        publish(app, entry(number))
    redis_client.config_resetstat()
    done: Callable[[], Any] = functools.partial(redis_client.hget, "memshare:done", "second")

    with start_worker(app, pool=pool, concurrency=4, perform_ping_check=False, shutdown_timeout=20, loglevel="ERROR"):
        wait_for(lambda: done() == str(MANY), 30, "every message to end")

    scripts, transactions, looks = calls(redis_client, "evalsha", "multi", "get")
    assert scripts // (2 * MANY) == 3, "take, begin and commit; kombu has a few of its own now and then"
    assert transactions < MANY, "kombu by itself takes and acknowledges each message with a transaction"
    assert looks < MANY, "Celery by itself looks for each result, and would store it"
    assert not redis_client.exists(UNACKED, MESSAGES, INCARNATIONS)
    assert app.AsyncResult("t3").result == {"word": "t3", "journey": None}


@pytest.mark.filterwarnings("ignore:Call to deprecated setex")  # by Celery
def test_threads_that_store_failures_share_their_connections(app: Celery, redis_client: redis.Redis) -> None:
    before = len(redis_client.client_list())

    for number in range(MANY):
        failure = f"t{number}", GiveUp("no"), "FAILURE"
        thread = threading.Thread(target=lambda failure=failure: app.backend.store_result(*failure))
        thread.start()
        thread.join()

    assert app.AsyncResult("t3").state == "FAILURE"
    assert len(redis_client.client_list()) <= before + 2
