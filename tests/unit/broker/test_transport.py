"""Our transport, beside kombu's own, on a real Redis."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import redis
from celery import Celery
from kombu.transport import redis as kombu_redis

from memshare_broker import redis_server
from memshare_broker.app import kombu_url, list_of, make_app, queue_named
from memshare_broker.celery_patches import SentinelTransport, Transport
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.delivery.publish import ACKNOWLEDGED, LATER, publish
from memshare_broker.delivery.schema import INCARNATIONS, UNACKED, UNACKED_INDEX, Entry
from memshare_broker.presence import WORKER_INCARNATION
from memshare_broker.settings import Settings
from tests.faults.line import line
from tests.support.deployment import wait_for

ENTRY = Entry(id="t1", task="agents.poem", queue="poem", body={"prompt": "x"}, journey="t1", stage="answer")


@pytest.fixture
def app(settings: Settings, redis_client: redis.Redis) -> Iterator[Celery]:
    """An app on an empty Redis."""
    assert redis_client.dbsize() == 0
    app = make_app(lambda _: ["poem"], settings)
    yield app
    app.close()


@pytest.fixture
def channel(app: Celery) -> Iterator[Any]:
    with app.connection_for_read() as connection:
        yield connection.default_channel


def take(channel: Any) -> Any:
    message = queue_named("poem")(channel).get(accept=["json"])
    assert message is not None
    return message


def test_what_a_worker_takes_is_noted_as_kombu_notes_it_and_with_its_incarnation(
    app: Celery, channel: Any, redis_client: redis.Redis
) -> None:
    Ledger(redis_client, keep_days=1).open(ENTRY)
    publish(app, ENTRY)
    (text,) = redis_client.lrange(list_of("poem", ENTRY.priority), 0, -1)

    message = take(channel)

    held = json.loads(redis_client.hget(UNACKED, message.delivery_tag))
    assert held == [json.loads(text), "", "poem"]
    assert redis_client.zrange(UNACKED_INDEX, 0, -1) == [message.delivery_tag]
    assert redis_client.hgetall(INCARNATIONS) == {"t1": WORKER_INCARNATION}


@pytest.mark.parametrize("off", [-3_600, 3_600])
def test_a_worker_whose_clock_is_off_takes_and_gives_back_by_the_clock_of_redis(
    app: Celery, channel: Any, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch, off: int
) -> None:
    now, right = redis_client.time()[0], time.time
    monkeypatch.setattr(time, "time", lambda: right() + off)
    monkeypatch.setattr(kombu_redis, "time", time.time)
    for name in ("t1", "t2"):
        publish(app, ENTRY.model_copy(update={"id": name, "journey": name}))
    young, old = take(channel).delivery_tag, take(channel).delivery_tag
    assert redis_client.zscore(UNACKED_INDEX, young) == pytest.approx(now, abs=60)
    redis_client.zincrby(UNACKED_INDEX, -channel.visibility_timeout - 1, old)

    channel.qos.restore_visible(num=10, interval=1)

    assert redis_client.zrange(UNACKED_INDEX, 0, -1) == [young]


def test_what_is_not_in_the_ledger_is_taken_without_an_incarnation(
    app: Celery, channel: Any, redis_client: redis.Redis
) -> None:
    publish(app, ENTRY)

    message = take(channel)

    assert redis_client.hkeys(UNACKED) == [message.delivery_tag]
    assert not redis_client.exists(INCARNATIONS)


def test_a_message_goes_back_to_its_queue_when_its_worker_does_not_want_it(
    app: Celery, channel: Any, redis_client: redis.Redis
) -> None:
    publish(app, ENTRY)

    take(channel).requeue()

    assert redis_client.llen(list_of("poem", ENTRY.priority)) == 1
    assert not redis_client.exists(UNACKED, UNACKED_INDEX)


def test_a_message_is_acknowledged_in_redis_unless_a_commit_has_done_so(
    app: Celery, channel: Any, redis_client: redis.Redis
) -> None:
    for name in ("t1", "t2"):
        publish(app, ENTRY.model_copy(update={"id": name, "journey": name}))
    plain, committed = take(channel), take(channel)
    before = redis_client.info("commandstats")["cmdstat_zrem"]["calls"]
    plain.ack()
    assert redis_client.hkeys(UNACKED) == [committed.delivery_tag]
    between = redis_client.info("commandstats")["cmdstat_zrem"]["calls"]

    committed.properties[ACKNOWLEDGED] = True
    committed.ack()

    assert (between - before, redis_client.info("commandstats")["cmdstat_zrem"]["calls"] - between) == (1, 0)
    assert committed.acknowledged
    assert channel.qos.can_consume()
    channel.qos._flush()
    assert not channel.qos._delivered, "it is not held any more"


def test_a_redis_that_forgot_its_scripts_is_told_them_again(
    app: Celery, channel: Any, redis_client: redis.Redis
) -> None:
    publish(app, ENTRY)
    redis_client.script_flush()

    message = take(channel)

    assert redis_client.hkeys(UNACKED) == [message.delivery_tag]


def test_the_names_of_kombus_own_keys_are_kombus() -> None:
    assert (kombu_redis.Channel.unacked_key, kombu_redis.Channel.unacked_index_key) == (UNACKED, UNACKED_INDEX)


def test_a_channel_keeps_one_client(channel: Any) -> None:
    with channel.conn_or_acquire() as one, channel.conn_or_acquire() as other:
        assert one is other

    channel._disconnect_pools()  # as after a fork

    with channel.conn_or_acquire() as another:
        assert another is not one
        assert another.ping()


@pytest.mark.parametrize(
    ("url", "transport"),
    [
        ("redis://queue:6379/0", Transport),
        ("rediss://queue:6379/0?ssl_cert_reqs=none", Transport),
        ("unix:///run/redis.sock?db=0", Transport),
        ("sentinel://:secret@one:26379,two:26379/0?master=mymaster", SentinelTransport),
    ],
)
def test_every_url_of_redis_takes_our_transport(settings: Settings, url: str, transport: type) -> None:
    app = make_app(settings=settings.model_copy(update={"redis_url": url}))

    with app.connection_for_write() as connection:
        assert connection.get_transport_cls() is transport
        assert connection.clone().get_transport_cls() is transport
    app.close()


def test_a_plain_client_and_ours_use_the_same_queues(app: Celery, settings: Settings, channel: Any) -> None:
    plain = Celery("plain", broker=kombu_url(settings.redis), set_as_current=False)
    plain.send_task("agents.poem", [{"prompt": "x"}], task_id="t9", queue="poem")

    assert take(channel).headers["id"] == "t9"

    publish(app, ENTRY)
    plain.conf.task_queues = [queue_named("poem")]
    with plain.connection_for_read() as connection:
        connection.transport_options = {"priority_steps": [0, 3, 6, 9]}
        assert take(connection.default_channel).headers["id"] == "t1"
    plain.close()


@pytest.fixture
def writes(redis_client: redis.Redis) -> Iterator[Callable[[bool], None]]:
    """Lets Redis take writes, or refuse them as it does on a full disk."""

    def allow(are_allowed: bool) -> None:
        redis_client.config_set("min-replicas-to-write", 0 if are_allowed else 1)

    yield allow
    allow(True)


def test_a_message_that_redis_does_not_let_a_worker_acknowledge_takes_no_place_and_goes_back_soon(
    app: Celery, channel: Any, redis_client: redis.Redis, writes: Callable[[bool], None]
) -> None:
    publish(app, ENTRY)
    channel.qos.prefetch_count = 1
    message = take(channel)
    assert not channel.qos.can_consume()

    writes(False)
    with pytest.raises(redis.ResponseError):
        message.ack()
    writes(True)

    assert channel.qos.can_consume()
    assert redis_client.hkeys(UNACKED) == [message.delivery_tag]

    channel.qos.restore_visible(interval=1)

    assert take(channel).headers["id"] == "t1"


def test_what_a_channel_cannot_give_back_when_it_is_closed_the_next_one_gives_back(
    app: Celery, channel: Any, redis_client: redis.Redis, writes: Callable[[bool], None]
) -> None:
    publish(app, ENTRY)
    message = take(channel)
    writes(False)
    with pytest.raises(redis.ResponseError):
        channel.qos.restore_unacked()
    writes(True)
    assert redis_client.hkeys(UNACKED) == [message.delivery_tag]

    with app.connection_for_read() as connection:
        another = connection.default_channel
        another.qos.restore_visible(interval=1)

        assert take(another).headers["id"] == "t1"


def test_a_message_of_which_a_worker_did_not_hear_that_it_has_it_goes_back(
    redis_folder: Path, app: Celery, channel: Any, redis_client: redis.Redis
) -> None:
    with line(redis_server.socket_path(redis_folder)) as slow, ThreadPoolExecutor(1) as threads:
        far = make_app(lambda _: ["poem"], Settings(data=redis_folder, redis_url=f"redis://127.0.0.1:{slow.port}/0"))
        with far.connection_for_read() as connection:
            assert queue_named("poem")(connection.default_channel).get() is None
            publish(app, ENTRY)
            slow.delay = 0.5  # seconds, each way
            taking = threads.submit(take, connection.default_channel)
            wait_for(lambda: redis_client.hlen(UNACKED), 10, "Redis to note it")
            slow.cut()  # the answer is on its way
            slow.delay = 0.0
            with pytest.raises(redis.ConnectionError):
                taking.result(10)
        far.close()
    assert redis_client.hlen(UNACKED) == 1

    channel.qos.restore_visible(interval=1)

    assert take(channel).headers["id"] == "t1"


@pytest.fixture
def room(redis_client: redis.Redis) -> Iterator[Callable[[bool], None]]:
    """Lets Redis have room, or none."""

    def allow(is_room: bool) -> None:
        redis_client.config_set("maxmemory", 0 if is_room else 1)

    yield allow
    allow(True)


def test_what_is_taken_from_a_full_redis_is_noted_all_the_same(
    app: Celery, channel: Any, redis_client: redis.Redis, room: Callable[[bool], None]
) -> None:
    Ledger(redis_client, keep_days=1).open(ENTRY)
    publish(app, ENTRY)
    room(False)
    with pytest.raises(redis.exceptions.OutOfMemoryError):
        redis_client.set("more", 1)

    message = take(channel)

    assert redis_client.hkeys(UNACKED) == [message.delivery_tag]
    assert redis_client.hgetall(INCARNATIONS) == {"t1": WORKER_INCARNATION}


def test_a_message_of_which_redis_does_not_note_that_it_was_taken_goes_back_soon(
    app: Celery, channel: Any, redis_client: redis.Redis
) -> None:
    publish(app, ENTRY)
    redis_client.set(UNACKED, "no hash")
    with pytest.raises(redis.ResponseError):
        take(channel)
    assert redis_client.llen(list_of("poem", ENTRY.priority)) == 0
    redis_client.delete(UNACKED)

    channel.qos.restore_visible(interval=1)

    assert take(channel).headers["id"] == "t1"


def test_a_message_whose_outcome_redis_did_not_take_goes_back_soon(
    app: Celery, channel: Any, redis_client: redis.Redis
) -> None:
    publish(app, ENTRY)
    channel.qos.prefetch_count = 1
    message = take(channel)

    message.reject(requeue=LATER)

    assert channel.qos.can_consume()
    assert redis_client.llen(list_of("poem", ENTRY.priority)) == 0
    channel.qos.restore_visible(interval=1)
    assert take(channel).headers["id"] == "t1"
