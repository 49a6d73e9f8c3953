"""How a message of the ledger gets into its queue: sent by Celery, or as a text that the ledger's scripts push."""

from __future__ import annotations

import base64
import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import redis
from celery import Celery
from kombu.exceptions import OperationalError

from memshare_broker.app import list_of, queue_named
from memshare_broker.delivery.schema import Entry, Outgoing
from memshare_broker.observe.safe_text import shortened
from memshare_broker.wire.signing import SIGNATURE

ACKNOWLEDGED = "memshare_acknowledged"
"""Property of a message in a worker's memory: a script has acknowledged it. Celery's request, which acknowledges what
has run, is told nothing of what a task returns but how it reads."""
LATER: Any = "later"
"""For `Reject(…, requeue=LATER)`: Redis did not take what the run did, so the message goes back when it does."""
PERSISTENT = 2  # kombu's word for a message that outlives its server


def publish(app: Celery, entry: Entry) -> None:
    """Send the message of a ledger entry to its queue.

    Not by `app.send_task`: for a task with a result that listens for it, on a connection that all threads share.
    """
    message = _message(app, entry, create_sent_event=app.conf.task_send_sent_event)
    with app.producer_or_acquire() as producer:
        app.amqp.send_task_message(
            producer, entry.task, message, queue=queue_named(entry.queue), priority=entry.priority, retry=True
        )


def outgoing(app: Celery, entry: Entry, parent: str | None = None) -> Outgoing:
    """The same message as Celery and kombu would write it, for a script to push. It follows the message `parent`."""
    made = _message(app, entry, parent_id=parent)
    message = {
        "body": base64.b64encode(json.dumps(made.body).encode()).decode(),
        "content-encoding": "utf-8",
        "content-type": "application/json",
        "headers": made.headers,
        "properties": {
            **made.properties,
            "delivery_mode": PERSISTENT,
            "delivery_info": {"exchange": "", "routing_key": entry.queue},
            "priority": entry.priority,
            "body_encoding": "base64",
            "delivery_tag": str(uuid4()),
        },
    }
    return Outgoing(entry, list_of(entry.queue, entry.priority), json.dumps(message))


def tell_sent(app: Celery, entry: Entry) -> None:
    """Tell who watches, such as Flower, of a message that was pushed. Nothing depends on it."""
    told = {"uuid": entry.id, "name": entry.task, "root_id": entry.journey, "queue": entry.queue}
    with suppress(redis.RedisError, OperationalError), app.events.default_dispatcher() as dispatcher:
        dispatcher.send("task-sent", **told, args=shortened(entry.body), kwargs="{}", retries=0, eta=None)


def _message(app: Celery, entry: Entry, **more: Any) -> Any:
    """The message of a ledger entry as Celery makes it, with the headers that are ours."""
    amqp: Any = app.amqp  # the stubs know of no messages
    made = amqp.as_task_v2(
        entry.id,
        entry.task,
        [entry.body],
        {},
        argsrepr=shortened(entry.body),
        root_id=entry.journey,
        ignore_result=not entry.has_result,
        reply_to=app.thread_oid,
        **more,
    )
    if entry.signature is not None:
        made.headers[SIGNATURE] = entry.signature
    if entry.expires is not None:
        made.headers["expires"] = datetime.fromtimestamp(entry.expires, UTC).isoformat()
    return made
