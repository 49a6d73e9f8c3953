"""The sweeper, with a real queue on a real Redis and no worker."""

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import redis
from celery import Celery

from memshare_broker.app import lists_of, make_app
from memshare_broker.delivery import sweeper
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.delivery.publish import publish
from memshare_broker.delivery.schema import INCARNATIONS, MESSAGES, PARKED, SWEEPING, SWEPT, UNACKED, Entry, open_key
from memshare_broker.delivery.sweeper import lost, sweep
from memshare_broker.errors import NotYet
from memshare_broker.presence import INTERVAL, LIFETIME, NOTICED_FOR, PREFIX, VANISHED, Presence, announce, withdraw
from memshare_broker.settings import Settings


@pytest.fixture
def app(settings: Settings) -> Celery:
    return make_app(settings=settings)


@pytest.fixture
def ledger(redis_client: redis.Redis) -> Ledger:
    return Ledger(redis_client, keep_days=1)


ENTRY = Entry(id="t1", task="agents.poem", queue="poem", body={"prompt": "x"}, journey="t1", stage="answer", priority=6)


def waiting(client: redis.Redis) -> list[str]:
    return [json.loads(text)["headers"]["id"] for name in lists_of("poem") for text in client.lrange(name, 0, -1)]


def test_a_lost_message_is_sent_again_under_its_id(app: Celery, ledger: Ledger, redis_client: redis.Redis) -> None:
    ledger.open(ENTRY)
    publish(app, ENTRY)
    redis_client.delete(*lists_of("poem"))

    assert sweep(app, redis_client, lease=0) == ["t1"]
    assert waiting(redis_client) == ["t1"]
    assert sweep(app, redis_client, lease=0) == []


def test_a_message_that_is_nowhere_is_told_until_it_is_sent_again(
    app: Celery, ledger: Ledger, redis_client: redis.Redis
) -> None:
    here, set_aside, at_a_worker, nowhere = [ENTRY.model_copy(update={"id": name}) for name in "abcd"]
    for entry in (here, set_aside, at_a_worker, nowhere):
        ledger.open(entry)
    publish(app, here)
    ledger.park(set_aside, NotYet("A cap.", 60, "agent poem"))
    ledger.begin(at_a_worker, "one")
    assert lost(redis_client, "poem", 100) == [], "it may be on its way for a moment"

    ago = time.time() - 30
    redis_client.zadd(open_key("poem"), dict.fromkeys("acd", ago))
    [told] = lost(redis_client, "poem", 100)

    assert told.id == "d"
    assert told.until == pytest.approx(ago + 100 + INTERVAL, abs=1)
    assert time.strftime("%H:%M:%S UTC", time.gmtime(told.until)) in told.why
    assert "d" in sweep(app, redis_client, lease=1)
    assert lost(redis_client, "poem", 100) == []


def test_a_message_that_waits_in_its_queue_is_left_alone(
    app: Celery, ledger: Ledger, redis_client: redis.Redis
) -> None:
    ledger.open(ENTRY)
    publish(app, ENTRY)

    assert sweep(app, redis_client, lease=0) == []
    assert waiting(redis_client) == ["t1"]


def test_a_message_that_a_worker_holds_is_left_alone(app: Celery, ledger: Ledger, redis_client: redis.Redis) -> None:
    announce(redis_client, Presence(node="n", pid=1, incarnation="its life", queues=("poem",)))
    ledger.open(ENTRY)
    redis_client.hset(INCARNATIONS, "t1", "its life")
    held(redis_client)

    assert sweep(app, redis_client, lease=0) == []
    assert waiting(redis_client) == []


def test_a_message_that_nobody_has_taken_though_the_transport_says_so_is_sent_again(
    app: Celery, ledger: Ledger, redis_client: redis.Redis
) -> None:
    ledger.open(ENTRY)
    held(redis_client)  # by a worker that was killed before it could note it

    assert sweep(app, redis_client, lease=60) == []
    assert sweep(app, redis_client, lease=0) == ["t1"]


def test_a_message_within_its_lease_is_left_alone(app: Celery, ledger: Ledger, redis_client: redis.Redis) -> None:
    ledger.open(ENTRY)

    assert sweep(app, redis_client, lease=60) == []
    assert waiting(redis_client) == []


def test_only_one_process_sweeps_at_a_time(app: Celery, ledger: Ledger, redis_client: redis.Redis) -> None:
    ledger.open(ENTRY)
    redis_client.set(SWEEPING, "another")

    assert sweep(app, redis_client, lease=0) == []


class Interfering(Celery):
    """An app that does something at the moment at which the sweeper sends a message."""

    def __init__(self, settings: Settings, meanwhile: Callable[[], object]) -> None:
        super().__init__(set_as_current=False)
        self.config_from_object(make_app(settings=settings).conf)
        self._meanwhile = meanwhile

    def producer_or_acquire(self, *_: Any, **__: Any) -> Any:
        self._meanwhile()
        return super().producer_or_acquire()


def failing() -> None:
    raise redis.ConnectionError


def test_a_sweep_that_is_over_lets_the_next_one_begin(
    ledger: Ledger, redis_client: redis.Redis, settings: Settings
) -> None:
    ledger.open(ENTRY)
    held_then = []
    sweep(Interfering(settings, lambda: held_then.append(redis_client.ttl(SWEEPING))), redis_client, lease=0)

    assert held_then[0] > 0, "it was held while the sweep ran"
    assert not redis_client.exists(SWEEPING)

    redis_client.delete(*lists_of("poem"))
    with pytest.raises(redis.ConnectionError):
        sweep(Interfering(settings, failing), redis_client, lease=0)
    assert not redis_client.exists(SWEEPING)


def test_a_sweep_that_lost_its_lock_leaves_that_of_another_alone_and_ends(
    ledger: Ledger, redis_client: redis.Redis, settings: Settings
) -> None:
    for queue in ("poem", "logic"):
        ledger.open(ENTRY.model_copy(update={"id": f"{queue}-1", "journey": f"{queue}-1", "queue": queue}))

    sent = sweep(Interfering(settings, lambda: redis_client.set(SWEEPING, "another")), redis_client, lease=0)

    assert sent == ["logic-1"], "the next queue is left to the other"
    assert redis_client.get(SWEEPING) == "another"


def test_a_long_sweep_keeps_its_lock(ledger: Ledger, redis_client: redis.Redis, settings: Settings) -> None:
    for queue in ("poem", "logic"):
        ledger.open(ENTRY.model_copy(update={"id": f"{queue}-1", "journey": f"{queue}-1", "queue": queue}))
    left = []

    def long_step() -> None:
        left.append(redis_client.ttl(SWEEPING))
        redis_client.expire(SWEEPING, 5)

    sweep(Interfering(settings, long_step), redis_client, lease=0)

    assert min(left) > 5


def held(client: redis.Redis) -> None:
    client.hset(UNACKED, "tag", json.dumps([{"headers": {"id": "t1"}}, "poem", "poem"]))


def test_what_a_vanished_worker_was_running_is_sent_again_long_before_its_lease(
    app: Celery, ledger: Ledger, redis_client: redis.Redis
) -> None:
    ledger.begin(ENTRY, "a life that has ended")
    held(redis_client)
    assert sweep(app, redis_client, lease=1000) == [], "it may still be about to say that it is there"

    redis_client.zincrby(open_key("poem"), -LIFETIME, "t1")

    assert sweep(app, redis_client, lease=1000) == ["t1"]
    redis_client.zincrby(open_key("poem"), -LIFETIME, "t1")
    assert sweep(app, redis_client, lease=1000) == []


def test_what_a_worker_ran_that_is_known_to_be_gone_is_sent_again_at_once(
    app: Celery, ledger: Ledger, redis_client: redis.Redis
) -> None:
    for life in ("killed", "started by its container"):
        announce(redis_client, Presence(node="poem-7", pid=7, incarnation=life, queues=("poem",)))
    ledger.begin(ENTRY, "killed")
    held(redis_client)

    assert sweep(app, redis_client, lease=1000) == ["t1"]
    assert sweep(app, redis_client, lease=1000) == []


def test_what_a_worker_that_is_there_runs_is_left_alone(app: Celery, ledger: Ledger, redis_client: redis.Redis) -> None:
    announce(redis_client, Presence(node="n", pid=1, incarnation="its life", queues=("poem",)))
    ledger.begin(ENTRY, "its life")
    held(redis_client)
    redis_client.zincrby(open_key("poem"), -LIFETIME, "t1")

    assert sweep(app, redis_client, lease=1000) == []


@pytest.fixture
def killed_worker(redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> Presence:
    """A worker that has announced itself, and is not there any more."""
    monkeypatch.setattr(sweeper, "TAKEN_WITHIN", 0.2)
    killed = Presence(node="killed", pid=1, incarnation="its life", queues=("poem",))
    announce(redis_client, killed)
    redis_client.delete(PREFIX + killed.node)
    return killed


@pytest.mark.usefixtures("killed_worker")
def test_what_a_killed_worker_took_and_did_not_note_is_sent_again_long_before_its_lease(
    app: Celery, ledger: Ledger, redis_client: redis.Redis
) -> None:
    queued, held_ = (ENTRY.model_copy(update={"id": name, "journey": name}) for name in ("queued", "held"))
    for entry in (ENTRY, queued, held_):
        ledger.open(entry)
    publish(app, queued)
    ledger.begin(held_, "of a worker that is there")
    announce(redis_client, Presence(node="n", pid=1, incarnation="of a worker that is there", queues=("poem",)))
    assert sweep(app, redis_client, lease=1000) == [], "it may be on its way to its queue"

    for entry in (ENTRY, queued, held_):
        redis_client.zincrby(open_key("poem"), -INTERVAL, entry.id)

    assert sweep(app, redis_client, lease=1000) == ["t1"]
    redis_client.zincrby(VANISHED, -NOTICED_FOR, "its life")
    sweep(app, redis_client, lease=1000)
    redis_client.delete(*lists_of("poem"))
    redis_client.zincrby(open_key("poem"), -INTERVAL, "t1")
    assert sweep(app, redis_client, lease=1000) == [], "it is not looked for for ever"
    assert not redis_client.exists(VANISHED)


def test_what_a_worker_lost_that_was_started_again_at_once_does_not_wait_for_its_lease(
    app: Celery, ledger: Ledger, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeper, "TAKEN_WITHIN", 0.2)
    for life in ("killed", "started by its container"):  # under the same name, as its process has the same number
        announce(redis_client, Presence(node="poem-7", pid=7, incarnation=life, queues=("poem",)))
    ledger.open(ENTRY)
    assert sweep(app, redis_client, lease=1000) == [], "it may be on its way to its queue"
    redis_client.zincrby(open_key("poem"), -INTERVAL, "t1")

    assert sweep(app, redis_client, lease=1000) == ["t1"]


@pytest.mark.usefixtures("killed_worker")
def test_what_another_worker_is_just_taking_is_left_alone(
    app: Celery, ledger: Ledger, redis_client: redis.Redis
) -> None:
    ledger.open(ENTRY)
    redis_client.zincrby(open_key("poem"), -INTERVAL, "t1")
    notes = threading.Timer(sweeper.TAKEN_WITHIN / 2, redis_client.hset, [INCARNATIONS, "t1", "another life"])
    notes.start()

    assert sweep(app, redis_client, lease=1000) == []
    notes.join()


def test_a_worker_that_withdrew_has_nothing_looked_for(app: Celery, ledger: Ledger, redis_client: redis.Redis) -> None:
    ended = Presence(node="n", pid=1, incarnation="its life", queues=("poem",))
    announce(redis_client, ended)
    withdraw(redis_client, ended)
    ledger.open(ENTRY)
    redis_client.zincrby(open_key("poem"), -INTERVAL, "t1")

    assert sweep(app, redis_client, lease=1000) == []


def test_a_message_that_was_lost_before_the_clock_went_back_is_not_missed_until_then(
    app: Celery, ledger: Ledger, redis_client: redis.Redis
) -> None:
    ledger.open(ENTRY)
    parked = Entry(**ENTRY.model_dump() | {"id": "t2", "journey": "t2"})
    ledger.begin(parked, "life")
    ledger.park(parked, NotYet("Later.", 5_000, hold="agent poem"))
    redis_client.zincrby(open_key("poem"), 5_000, "t1")
    redis_client.set(SWEPT, redis_client.time()[0] + 5_000)
    assert sweep(app, redis_client, lease=0.3) == [], "it may have been seen just now"
    time.sleep(0.31)

    assert sweep(app, redis_client, lease=0.3) == ["t1"]


def test_a_worker_that_was_killed_is_missed_soon_after_the_clock_went_back(
    app: Celery, redis_client: redis.Redis
) -> None:
    for node in ("killed", "new"):
        announce(redis_client, Presence(node=node, pid=1, incarnation=node, queues=("poem",)))
    redis_client.expire(PREFIX + "killed", LIFETIME + 600)
    redis_client.set(SWEPT, redis_client.time()[0] + 600)

    sweep(app, redis_client, lease=330)

    assert {node: 0 < redis_client.ttl(PREFIX + node) <= LIFETIME for node in ("killed", "new")} == {
        "killed": True,
        "new": True,
    }


GARBAGE = (
    b"caf\xe9",
    b"{",
    b"[]",
    b"[1, 2]",
    b"null",
    b"{}",
    b'{"headers": []}',
    b'{"headers": {"id": ["t1"]}}',
    b"[" * 9_000,
)


def test_what_is_no_message_keeps_no_lost_one_from_being_sent_again(
    app: Celery, ledger: Ledger, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    for queue in ("alpha", "poem"):
        ledger.open(ENTRY.model_copy(update={"id": f"{queue}-1", "journey": f"{queue}-1", "queue": queue}))
        redis_client.lpush(queue, *GARBAGE)
    redis_client.hset(UNACKED, mapping={f"tag {number}": item for number, item in enumerate(GARBAGE)})

    assert sweep(app, redis_client, lease=0) == ["alpha-1", "poem-1"]

    assert "8 items in a queue are no messages" in caplog.text


def test_a_queue_that_cannot_be_read_keeps_no_other_from_being_swept(
    app: Celery, ledger: Ledger, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    for queue in ("alpha", "poem"):
        ledger.open(ENTRY.model_copy(update={"id": f"{queue}-1", "journey": f"{queue}-1", "queue": queue}))
    redis_client.set("alpha", "no list")

    assert sweep(app, redis_client, lease=0) == ["poem-1"]

    assert "The queue 'alpha' cannot be swept" in caplog.text


def test_what_the_ledger_cannot_read_of_one_message_keeps_no_other_from_being_sent(
    app: Celery, ledger: Ledger, redis_client: redis.Redis
) -> None:
    for name in ("t1", "t2", "t3"):
        ledger.open(ENTRY.model_copy(update={"id": name, "journey": name}))
    redis_client.hset(MESSAGES, "t1", "no entry")

    assert sweep(app, redis_client, lease=0) == ["t2", "t3"]

    for name in ("t1", "t2", "t3"):
        redis_client.zadd(PARKED, {name: 0})
    assert [entry.id for entry in ledger.parked.release(10)] == ["t2", "t3"]
