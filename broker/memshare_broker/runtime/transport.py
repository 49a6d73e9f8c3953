"""How our own workers and clients speak to Redis: kombu's transport, with fewer round trips.

Whatever they send and take is as kombu has it, so plain Celery clients and workers of the same queues see no
difference.
"""

from __future__ import annotations

import logging
import time
from queue import Empty
from typing import Any, ClassVar

import kombu
from celery.app.amqp import AMQP
from kombu.transport import redis as kombu_redis
from kombu.transport import virtual
from kombu.utils.json import dumps, loads
from redis.exceptions import ResponseError

from memshare_broker.delivery.publish import ACKNOWLEDGED, REFUSED
from memshare_broker.delivery.scripts import run_script
from memshare_broker.presence import WORKER_INCARNATION
from memshare_broker.wire.envelope import UNREADABLE, read_envelope

log = logging.getLogger(__name__)


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
            run_script(client, "take", delivery_tag, time.time(), held, message_id, WORKER_INCARNATION)
        del self._to_give_back[delivery_tag]
        virtual.QoS.append(self, message, delivery_tag)

    def ack(self, delivery_tag: str) -> None:
        message = self._delivered.get(delivery_tag) if self._delivered else None
        if message is not None and ACKNOWLEDGED in message.properties:
            virtual.QoS.ack(self, delivery_tag)
            return
        if message is not None and REFUSED in message.properties:
            self._to_give_back[delivery_tag] = ""
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
    """A channel to one Redis."""

    QoS = QoS


class SentinelChannel(_CarefulReader, _OneClient, kombu_redis.SentinelChannel):
    """A channel to the Redis that sentinels name."""

    QoS = QoS


class Transport(kombu_redis.Transport):
    """The transport to one Redis."""

    Channel = Channel


class SentinelTransport(kombu_redis.SentinelTransport):
    """The transport to the Redis that sentinels name."""

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
    """What a Celery app takes its connections from."""

    Connection = Connection
    BrokerConnection = Connection
