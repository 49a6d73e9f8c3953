"""Celery's consumer, which keeps what it cannot run as a dead letter, and sends every event before it ends."""

from __future__ import annotations

import logging
from typing import Any

from celery.worker.consumer import Consumer
from kombu import Message

from memshare.broker.connection import connect
from memshare.broker.delivery.dead_letters import DeadLetters, letter_for, unreadable
from memshare.broker.delivery.ledger import Ledger
from memshare.broker.errors import GiveUp
from memshare.broker.observe.logs import ids
from memshare.broker.settings import load_settings

log = logging.getLogger(__name__)


class CarefulConsumer(Consumer):
    """Buries messages that are not JSON, name no task, or name a task that no worker of the queue has."""

    def on_decode_error(self, message: Message, exc: Exception) -> None:
        self._bury(message, f"The message cannot be read ({exc}). Messages are JSON; pickle is refused.")
        message.ack()

    def on_unknown_message(self, body: Any, message: Message) -> None:
        self._bury(message, "The message is no Celery task: it names none.")
        super().on_unknown_message(body, message)

    def on_unknown_task(self, body: Any, message: Message, exc: Exception) -> None:
        known = ", ".join(sorted(name for name in self.app.tasks if not name.startswith("celery.")))
        self._bury(message, f"No task is called {message.headers.get('task')!r} here. There are: {known}.")
        super().on_unknown_task(body, message, exc)

    def on_invalid_task(self, body: Any, message: Message, exc: Exception) -> None:
        self._bury(message, f"The message is no valid Celery task: {exc}.")
        super().on_invalid_task(body, message, exc)

    def shutdown(self) -> None:
        """End for good, when the tasks have ended: who watches still hears of the last ones."""
        dispatcher: Any = self.event_dispatcher  # type: ignore[attr-defined] # of the step `Events`
        if dispatcher is not None:
            dispatcher.flush()
        super().shutdown()

    def _bury(self, message: Message, reason: str) -> None:
        settings = load_settings()
        client = connect(settings.redis)
        body = message.body.decode(errors="replace") if isinstance(message.body, bytes) else message.body
        queue = (message.delivery_info or {}).get("routing_key") or "unknown"
        entry = unreadable(body, queue, (message.headers or {}).get("id"))
        letter = letter_for(entry, GiveUp(reason), tries=1, kind="malformed")
        DeadLetters(client, Ledger(client, settings.keep_days)).add(letter)
        log.error("%s", reason, extra=ids(task_id=entry.id, queue=queue))
        client.close()
