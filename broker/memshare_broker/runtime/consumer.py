"""Celery's consumer, which keeps what it cannot run as a dead letter, and sends every event before it ends."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from functools import cached_property
from typing import Any, cast

import redis
from celery.app.task import Context
from celery.utils.time import maybe_iso8601, maybe_make_aware
from celery.worker.consumer import Consumer
from kombu import Message
from kombu.exceptions import OperationalError

from memshare_broker.delivery.dead_letters import DeadLetters, letter_for, unreadable
from memshare_broker.delivery.incoming import DUE, EXPIRES
from memshare_broker.errors import GiveUp
from memshare_broker.observe.logs import ids
from memshare_broker.runtime.worker import open_stage_services
from memshare_broker.settings import load_settings
from memshare_broker.wire.envelope import UNREADABLE, UnreadableMessage, check_payload, is_id, read_headers
from memshare_broker.wire.forms import one_line

log = logging.getLogger(__name__)

LATEST = 366 * 86_400  # seconds from now; for the time at which a task may be asked to run
OUR_WORDS = "Messages are JSON, as Celery writes it; pickle is refused."


class CarefulConsumer(Consumer):
    """Looks at every message before Celery does, and buries those that it cannot run."""

    def create_task_handler(self, *args: Any, **more: Any) -> Callable[[Message], None]:
        """What is called with every message. Whatever is in it, the worker goes on."""
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
