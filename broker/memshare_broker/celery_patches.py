"""Changes to Celery and kombu, all in this place; a test names each private name that they touch.

Transport: kombu's for Redis, with fewer round trips. Whatever workers send and take is as kombu has it, so plain Celery
clients and workers of the same queues see no difference. Consumer: what cannot be read becomes a dead letter, and the
next task runs. Events, which Flower shows: sent in batches, and none lost on the way.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import cached_property
from queue import Empty
from typing import Any, ClassVar, cast

import kombu
import redis
from celery.app.amqp import AMQP
from celery.app.events import Events as CeleryEvents
from celery.app.task import Context
from celery.events import group_from
from celery.events.dispatcher import EventDispatcher
from celery.utils.time import maybe_iso8601, maybe_make_aware
from celery.worker.consumer import Consumer
from kombu import Message
from kombu.exceptions import OperationalError
from kombu.transport import redis as kombu_redis
from kombu.transport import virtual
from kombu.utils.json import dumps, loads
from redis.exceptions import ResponseError

from memshare_broker.delivery.dead_letters import DeadLetters, letter_for, unreadable
from memshare_broker.delivery.incoming import DUE, EXPIRES
from memshare_broker.delivery.publish import ACKNOWLEDGED, LATER
from memshare_broker.delivery.schema import ledger_script
from memshare_broker.errors import GiveUp
from memshare_broker.observe.logs import ids
from memshare_broker.presence import WORKER_INCARNATION
from memshare_broker.settings import load_settings
from memshare_broker.steady_thread import steady_thread
from memshare_broker.wire.envelope import (
    UNREADABLE,
    UnreadableMessage,
    check_payload,
    is_id,
    read_envelope,
    read_headers,
)
from memshare_broker.wire.forms import one_line
from memshare_broker.worker import open_stage_services

log = logging.getLogger(__name__)

TAKE = ledger_script("take")


class QoS(kombu_redis.QoS):
    """Notes what is taken for kombu and for the ledger in one step; a commit acknowledges by itself."""

    _to_give_back: ClassVar[dict[str, str]] = {}
    """Delivery tags that this process does not work on and could not give back, on whatever channel: with what kombu
    would note of the message, where Redis may never have heard of it; else with nothing."""

    def append(self, message: Any, delivery_tag: str) -> None:
        place = message.delivery_info
        held = dumps([message._raw, place["exchange"], place["routing_key"]])
        message_id = (message.headers or {}).get("id") or ""
        channel: Any = self.channel  # the stubs know of no clients
        self._to_give_back[delivery_tag] = held  # unless Redis says that it is noted: it may not hear of it, or refuse
        with channel.conn_or_acquire() as client:
            TAKE(client, tag=delivery_tag, held=held, id=message_id, incarnation=WORKER_INCARNATION)
        del self._to_give_back[delivery_tag]
        virtual.QoS.append(self, message, delivery_tag)

    @property
    def visibility_timeout(self) -> int:
        """Seconds, and by how much this process is ahead of Redis: kombu asks its clock, `take` that of Redis."""
        channel: Any = self.channel
        with channel.conn_or_acquire() as client:
            seconds, _ = client.time()
        return int(channel.visibility_timeout + time.time() - seconds)

    def ack(self, delivery_tag: str) -> None:
        message = self._delivered.get(delivery_tag) if self._delivered else None
        if message is not None and ACKNOWLEDGED in message.properties:
            virtual.QoS.ack(self, delivery_tag)
            return
        try:
            super().ack(delivery_tag)
        except ResponseError:
            # Redis takes no writes, as on a full disk, and the connection stands. A message that counted as running
            # here for ever would take the place of others.
            self._to_give_back[delivery_tag] = ""
            virtual.QoS.ack(self, delivery_tag)
            raise

    def reject(self, delivery_tag: str, requeue: Any = False) -> None:
        if requeue != LATER:
            super().reject(delivery_tag, requeue)
            return
        self._to_give_back[delivery_tag] = ""
        virtual.QoS.ack(self, delivery_tag)

    def restore_unacked(self, client: Any = None) -> None:
        """Give everything back, as a channel does that is closed, perhaps because Redis does not answer."""
        held = list(self._delivered or ())
        self._to_give_back.update(dict.fromkeys(held, ""))
        for tag in held:
            self.restore_by_tag(tag, client)
            del self._to_give_back[tag]
        if self._delivered:
            self._delivered.clear()

    def restore_visible(self, *args: Any, **kwargs: Any) -> None:
        """Give back what was held for too long, and what could not be given back before: every few seconds."""
        for tag, held in list(self._to_give_back.items()):
            if held:
                self._restore_unnoted(tag, held)
            else:
                self.restore_by_tag(tag)
            self._to_give_back.pop(tag, None)
        super().restore_visible(*args, **kwargs)

    def _restore_unnoted(self, tag: str, held: str) -> None:
        """Give back a message that was taken off its queue, of which Redis may or may not have noted that."""
        channel: Any = self.channel
        with channel.conn_or_acquire() as client:
            if client.hexists(self.unacked_key, tag):
                self.restore_by_tag(tag, client)
                return
            message, exchange, routing_key = loads(held)
            with client.pipeline() as step:
                step.zrem(self.unacked_index_key, tag)
                channel._do_restore_message(message, exchange, routing_key, step)
                step.execute()


class _OneClient:
    """Keeps the Redis client of a channel; kombu makes one for each message that it sends, takes or acknowledges."""

    _kept: Any = None

    def _create_client(self, asynchronous: bool = False) -> Any:
        if asynchronous:  # kombu keeps these, each with its own connection
            return super()._create_client(asynchronous=True)  # type: ignore[misc] # of kombu's channel
        pool = self.pool  # type: ignore[attr-defined] # another one after a fork
        if self._kept is None or self._kept.connection_pool is not pool:
            self._kept = super()._create_client()  # type: ignore[misc]
        return self._kept


class _CarefulReader:
    """Hands kombu nothing that it did not write itself: whatever else lies in a queue comes in an envelope of ours."""

    def _brpop_read(self, **options: Any) -> bool:
        channel: Any = self
        try:
            try:
                found = channel.client.parse_response(channel.client.connection, "BRPOP", **options)
            except channel.connection_errors:
                channel.client.connection.disconnect()  # the next round connects again
                raise
            if not found:
                raise Empty
            place, item = found
            queue = place.decode().rsplit(channel.sep, 1)[0]
            channel._queue_cycle.rotate(queue)
            channel.connection._deliver(read_envelope(item, queue), queue)
        finally:
            channel._in_poll = None
            channel._flush_brpop_reauth()
        return True

    def _deliver_fanout_message(self, message: Any, exchange: str) -> bool:
        """Pass on what was sent to every worker; what is no message says nothing to any of them."""
        channel: Any = self
        queue = channel._fanout_to_queue.get(exchange)
        envelope = read_envelope(dumps(message).encode(), queue or exchange)
        if queue is None or UNREADABLE in envelope["headers"]:
            log.warning("Left out what was published on %r: it is no message.", exchange)
            return False
        channel.connection._deliver(envelope, queue)
        return True


class Channel(_CarefulReader, _OneClient, kombu_redis.Channel):
    QoS = QoS


class SentinelChannel(_CarefulReader, _OneClient, kombu_redis.SentinelChannel):
    QoS = QoS


class Transport(kombu_redis.Transport):
    Channel = Channel


class SentinelTransport(kombu_redis.SentinelTransport):
    Channel = SentinelChannel


TRANSPORTS: dict[type[Any], type[Any]] = {
    kombu_redis.Transport: Transport,
    kombu_redis.SentinelTransport: SentinelTransport,
}


class Connection(kombu.Connection):
    """A connection by a plain URL, such as redis://HOST, that takes our transport in place of kombu's."""

    def get_transport_cls(self) -> type[Any]:
        found = super().get_transport_cls()
        return TRANSPORTS.get(found, found)


class Messaging(AMQP):
    """The source of a Celery app's connections."""

    Connection = Connection
    BrokerConnection = Connection


LATEST = 366 * 86_400  # seconds from now; for the time at which a task may be asked to run
OUR_WORDS = "Messages are JSON, as Celery writes it; pickle is refused."


class CarefulConsumer(Consumer):
    """Looks at every message before Celery does, and buries those that it cannot run."""

    def create_task_handler(self, *args: Any, **more: Any) -> Callable[[Message], None]:
        """Function that is called with every message. Whatever the message holds, the worker goes on."""
        handle = super().create_task_handler(*args, **more)

        def receive(message: Message) -> None:
            try:
                self._check(message)
                handle(message)
            except (redis.RedisError, OperationalError, OSError):
                raise  # Redis is away: the message comes again
            except UnreadableMessage as error:
                self._refuse(message, str(error))
            except Exception as error:
                log.exception("A message passed the checks, and Celery cannot take it.")
                self._refuse(message, f"Celery cannot take it: {type(error).__name__}: {error}.")

        return receive

    def on_decode_error(self, message: Message, exc: Exception) -> None:
        self._refuse(message, f"The message cannot be read ({exc}). {OUR_WORDS}")

    def on_invalid_task(self, _body: Any, message: Message, exc: Exception) -> None:
        self._refuse(message, f"The message is no valid Celery task: {exc}.")

    def shutdown(self) -> None:
        """End for good, when the tasks have ended: who watches still hears of the last ones."""
        dispatcher: Any = self.event_dispatcher  # type: ignore[attr-defined] # of the step `Events`
        if dispatcher is not None:
            dispatcher.flush()
        super().shutdown()

    def _check(self, message: Message) -> None:
        """Give a message the headers that Celery can take. Raises `UnreadableMessage`."""
        headers = read_headers(message.headers)
        task = self.app.tasks.get(headers["task"])
        if task is None or headers["task"].startswith("celery."):
            known = ", ".join(sorted(name for name in self.app.tasks if not name.startswith("celery.")))
            raise UnreadableMessage(f"No task is called {headers['task']!r} here. There are: {known}.")
        try:
            payload = message.decode()
        except Exception as error:
            raise UnreadableMessage(f"Its body cannot be read ({error}). {OUR_WORDS}") from error
        check_payload(payload, cast(bytes, message.body))
        due, expires = self._moment(headers, "eta"), self._moment(headers, "expires")
        if getattr(task, "keeps_time", False):
            # Until its time has come Celery would hold a task in memory, so many of them, and then take nothing.
            headers |= {"eta": None, "expires": None, DUE: due, EXPIRES: expires}
        elif due is not None:
            raise UnreadableMessage(f"{task.name} runs when it is asked to, not at a time (eta, countdown).")
        message.headers = headers

    def _moment(self, headers: dict[str, Any], name: str) -> float | None:
        """A time of the headers, as Unix time in seconds."""
        if headers.get(name) is None:
            return None
        try:
            read = maybe_iso8601(headers[name])
            moment = maybe_make_aware(read, self.app.timezone).timestamp() if read else 0.0
        except (ValueError, TypeError, AttributeError, OverflowError) as error:
            raise UnreadableMessage(f"Its {name} is no time: {headers[name]!r}.") from error
        if moment > time.time() + LATEST:
            raise UnreadableMessage(f"Its {name} is more than a year away: {headers[name]!r}.")
        return float(moment)

    def _refuse(self, message: Message, reason: str) -> None:
        """Keep a message as a dead letter, tell who waits for it, and strike it off."""
        error = GiveUp(one_line(reason))
        headers = message.headers or {}
        queue = (message.delivery_info or {}).get("routing_key") or "unknown"
        named = headers["id"] if is_id(headers.get("id")) else None
        body = message.body.decode(errors="backslashreplace") if isinstance(message.body, bytes) else message.body
        if UNREADABLE not in headers:  # else its body is all that came
            body = json.dumps({"headers": headers, "body": body}, default=repr)
        entry = unreadable(body, queue, named or f"unreadable-{message.delivery_tag}")
        self._dead_letters.add(letter_for(entry, error, tries=1, kind="malformed"))
        log.error("%s", error, extra=ids(task_id=entry.id, queue=queue))
        if named is not None and named in self._dead_letters:  # and has not come under the id of another task
            self.app.backend.mark_as_failure(named, error, request=Context(id=named, errbacks=None, chord=None))
        if not message.acknowledged:
            message.reject()

    @cached_property
    def _dead_letters(self) -> DeadLetters:
        return open_stage_services(load_settings()).dead_letters


EVERY = 0.25  # seconds; Flower is as late as that, and a batch costs as much as a single event
MOST = 500  # events of a batch

Unsent = tuple[Any, str, Exception | None]  # an event or a batch, its routing key, and why it was not sent


class Dispatcher(EventDispatcher):
    """Collects the events of tasks and sends them four times a second, from a thread of its own.

    Celery's own empties its buffer after it was sent. What another thread has added in between is lost, and a task
    looks as if it ran for ever; so is a batch that could not be sent. Here a buffer is taken whole before it is sent,
    and what could not be sent is sent with the next one.
    """

    # What the stubs do not know of its parent.
    mutex: threading.Lock
    buffer_group: frozenset[str]
    on_send_buffered: Callable[[], None] | None
    _group_buffer: dict[str, list[Any]]
    _outbound_buffer: deque[Unsent]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._buffering = threading.RLock()
        self._due, self._closed = threading.Event(), threading.Event()
        self._sender: threading.Thread | None = None
        super().__init__(*args, **kwargs)
        if self.on_send_buffered is not None:  # a worker's: Celery would send after every round of its event loop
            self.buffer_limit = float("inf")
            self.on_send_buffered = self._send_soon

    def send(self, type: str, *args: Any, **fields: Any) -> None:  # noqa: A002 - Celery's word
        """Send an event, or collect it where its group is sent in batches."""
        if group_from(type) in self.buffer_group:
            with self._buffering:
                super().send(type, *args, **fields)
        else:
            super().send(type, *args, **fields)

    def flush(self, *_: Any, **__: Any) -> None:
        """Send what was collected, and what could not be sent before."""
        for event, routing_key, _error in self._take():
            with self.mutex:
                self._publish(event, self.producer, routing_key)  # type: ignore[attr-defined] # keeps what it cannot send

    def extend_buffer(self, other: EventDispatcher) -> None:
        """Take over what an earlier dispatcher has not sent."""
        assert isinstance(other, Dispatcher)
        self._outbound_buffer.extend(other._take())

    def close(self) -> None:
        """End its thread. What was not sent stays, for the dispatcher that comes next."""
        self._closed.set()
        self._due.set()
        self.producer = None

    def _take(self) -> list[Unsent]:
        with self._buffering:
            taken = [self._outbound_buffer.popleft() for _ in range(len(self._outbound_buffer))]
            for group, events in self._group_buffer.items():
                batches = (events[at : at + MOST] for at in range(0, len(events), MOST))
                taken += [(batch, f"{group}.multi", None) for batch in batches]
                events.clear()
        return taken

    def _send_soon(self) -> None:
        self._due.set()
        if self._sender is None:
            self._sender = steady_thread("memshare-events", self._send_batch, self._closed)

    def _send_batch(self) -> None:
        self._due.wait()
        if not self._closed.wait(EVERY):
            self._due.clear()
            self.flush()


class Events(CeleryEvents):
    """The source of an app's event dispatcher."""

    dispatcher_cls = "memshare_broker.celery_patches:Dispatcher"
