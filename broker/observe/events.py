"""Celery's events, which Flower shows, without the loss that its buffer has under threads."""

from __future__ import annotations

import threading
from typing import Any

from celery.app.events import Events as CeleryEvents
from celery.events.dispatcher import EventDispatcher


class Dispatcher(EventDispatcher):
    """Lets one thread at a time add to the buffer or send it.

    Celery's own empties the buffer after it was sent: what another thread has added in between is lost, and a task
    looks as if it ran for ever.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._buffering = threading.RLock()
        super().__init__(*args, **kwargs)

    def send(self, *args: Any, **kwargs: Any) -> Any:
        with self._buffering:
            return super().send(*args, **kwargs)

    def flush(self, *args: Any, **kwargs: Any) -> None:
        with self._buffering:
            super().flush(*args, **kwargs)


class Events(CeleryEvents):
    """What an app takes its dispatcher from."""

    dispatcher_cls = "memshare.broker.observe.events:Dispatcher"
