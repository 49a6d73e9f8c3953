from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
import redis
from celery import Celery
from kombu import Queue

from memshare_broker.app import make_app
from memshare_broker.celery_patches import MOST, Dispatcher
from memshare_broker.settings import Settings
from tests.support.deployment import wait_for

THREADS, EACH = 8, 400

Heard = Callable[[], list[list[str]]]


@pytest.fixture
def app(settings: Settings, redis_client: redis.Redis) -> Iterator[Celery]:
    """An app on an empty Redis."""
    assert redis_client.dbsize() == 0
    app = make_app(settings=settings)
    yield app
    app.close()


@pytest.fixture
def dispatcher(app: Celery) -> Iterator[Dispatcher]:
    """What a worker sends its events with."""
    with app.connection_for_write() as connection:
        made = a_workers_dispatcher(app, connection)
        yield made
        made.close()


def a_workers_dispatcher(app: Celery, connection: Any) -> Dispatcher:
    made = app.events.Dispatcher(connection, hostname="w@host", buffer_group=["task"], on_send_buffered=print)
    assert isinstance(made, Dispatcher)
    return made


@pytest.fixture
def heard(app: Celery) -> Iterator[Heard]:
    """The ids in each batch that whoever watches has heard of so far."""
    batches: list[list[str]] = []
    with app.connection_for_read() as connection:
        exchange = app.events.Receiver(connection).exchange
        queue = Queue("watches", exchange, routing_key="task.multi", auto_delete=True)
        with connection.Consumer(
            [queue],
            callbacks=[lambda body, _: batches.append([one["uuid"] for one in body])],
            accept=["json"],
            no_ack=True,
        ):

            def listen() -> list[list[str]]:
                with suppress(TimeoutError):
                    connection.drain_events(timeout=0.05)
                return batches

            listen()
            yield listen


def test_events_that_come_together_are_sent_together(dispatcher: Dispatcher, heard: Heard) -> None:
    for number in range(30):
        dispatcher.send("task-started", uuid=str(number))

    wait_for(heard, 10, "the events")

    assert heard() == [[str(number) for number in range(30)]]
    dispatcher.send("task-started", uuid="later")
    wait_for(lambda: len(heard()) > 1, 10, "the next one")
    assert heard()[1:] == [["later"]]


def test_a_batch_has_a_limit(dispatcher: Dispatcher, heard: Heard) -> None:
    with dispatcher._buffering:
        for number in range(MOST + 1):
            dispatcher.send("task-started", uuid=str(number))

    wait_for(lambda: len(heard()) == 2, 10, "the events")

    assert [len(batch) for batch in heard()] == [MOST, 1]


def test_what_cannot_be_sent_is_sent_by_the_dispatcher_of_the_next_connection(
    app: Celery, dispatcher: Dispatcher, heard: Heard
) -> None:
    dispatcher.connection.close()
    dispatcher.producer = None
    dispatcher.send("task-started", uuid="one")
    dispatcher.flush()
    with dispatcher._buffering:  # so that its thread does not take it
        dispatcher.send("task-started", uuid="two")
        dispatcher.close()

        with app.connection_for_write() as connection:
            following = a_workers_dispatcher(app, connection)
            following.extend_buffer(dispatcher)
            following.flush()
            following.close()

    wait_for(lambda: len(heard()) == 2, 10, "both events")
    assert heard() == [["one"], ["two"]]


def test_a_dispatcher_that_is_closed_has_no_thread(app: Celery, heard: Heard) -> None:
    with app.connection_for_write() as connection:
        dispatcher = a_workers_dispatcher(app, connection)
        dispatcher.send("task-started", uuid="one")
        wait_for(heard, 10, "the event")

        dispatcher.close()

        assert dispatcher._sender is not None
        dispatcher._sender.join(10)
        assert not dispatcher._sender.is_alive()


def test_no_event_is_lost_while_another_thread_sends_the_buffer(settings: Settings) -> None:
    app = make_app(settings=settings)
    sent: list[dict[str, Any]] = []
    with app.connection_for_write() as connection:
        dispatcher = app.events.Dispatcher(connection, hostname="test", enabled=True, buffer_group=["task"])
        publish = dispatcher._publish

        def noted(event: Any, *args: Any, **kwargs: Any) -> None:
            sent.extend(event)
            publish(event, *args, **kwargs)

        dispatcher._publish = noted
        dispatcher.on_send_buffered = dispatcher.flush

        def work() -> None:
            for number in range(EACH):
                dispatcher.send("task-started", uuid=str(number))

        threads = [threading.Thread(target=work) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        dispatcher.flush()
        dispatcher.close()
    app.close()

    assert len(sent) == THREADS * EACH
