from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis
from celery import Celery
from kombu.exceptions import ContentDisallowed

from memshare_broker.app import MEMORY_QUEUE, kombu_url, lists_of, make_app, queue_named
from memshare_broker.settings import SERVER_WAIT, Settings


@pytest.fixture
def app(settings: Settings, redis_client: redis.Redis) -> Iterator[Celery]:
    """An app on an empty Redis."""
    assert redis_client.dbsize() == 0
    app = make_app(settings=settings)
    yield app
    app.close()


@pytest.mark.parametrize(
    ("ours", "kombus"),
    [
        ("redis://queue:6379/2", "redis://queue:6379/2"),
        ("rediss://ada:secret@queue/0", "rediss://ada:secret@queue/0"),
        ("unix:///run/redis.sock?db=3", "redis+socket:///run/redis.sock?virtual_host=3"),
        ("unix:///run/redis.sock", "redis+socket:///run/redis.sock?virtual_host=0"),
    ],
)
def test_a_redis_url_is_written_the_way_celery_reads_it(ours: str, kombus: str) -> None:
    assert kombu_url(ours) == kombus


def test_an_app_reads_its_settings_when_it_is_first_used(monkeypatch: pytest.MonkeyPatch) -> None:
    app = make_app()
    monkeypatch.setenv("MEMSHARE_REDIS_URL", "redis://queue:6379/2")
    monkeypatch.setenv("MEMSHARE_CONCURRENCY", "7")

    assert app.conf.broker_url == "redis://queue:6379/2"
    assert app.conf.worker_concurrency == 7


def test_an_app_knows_the_queues_it_is_given_each_once(settings: Settings) -> None:
    app = make_app(lambda _: ["poem", MEMORY_QUEUE, "poem"], settings)

    assert list(app.amqp.queues) == ["poem", MEMORY_QUEUE]


@pytest.mark.parametrize("priority", range(10))
def test_a_message_lies_in_one_of_the_lists_of_its_queue(app: Celery, redis_client: redis.Redis, priority: int) -> None:
    app.send_task("agents.poem", [{}], queue=queue_named("poem"), priority=priority)

    lengths = [redis_client.llen(name) for name in lists_of("poem")]

    assert sum(lengths) == 1
    assert lengths.index(1) == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3][priority]


def test_a_message_is_json(app: Celery) -> None:
    app.send_task("agents.poem", [{"prompt": "以秋夜为题"}], queue=queue_named("poem"))

    with app.connection_for_read() as connection:
        message = queue_named("poem")(connection.default_channel).get(accept=app.conf.accept_content)

    assert message is not None
    assert message.content_type == "application/json"
    assert message.payload[0] == [{"prompt": "以秋夜为题"}]


def test_a_pickled_message_is_refused(app: Celery) -> None:
    with app.connection_for_write() as connection:
        app.amqp.Producer(connection).publish(
            {"prompt": "A lamp"},
            serializer="pickle",
            routing_key="poem",
            declare=[queue_named("poem")],
            exchange="poem",
        )

    with app.connection_for_read() as connection:
        message = queue_named("poem")(connection.default_channel).get(accept=app.conf.accept_content)

    assert message is not None
    with pytest.raises(ContentDisallowed):
        message.decode()


def test_a_message_becomes_visible_again_only_after_the_longest_task(settings: Settings) -> None:
    for timeout in (1, 120, 600, 3_600):
        slow = Settings(data=settings.data, model_timeout=timeout)

        conf = make_app(settings=slow).conf

        assert conf.broker_transport_options["visibility_timeout"] > 2 * timeout + SERVER_WAIT
        assert conf.result_backend_transport_options["visibility_timeout"] < slow.lost_after
        assert conf.task_acks_late
