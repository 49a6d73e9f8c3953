"""Celery's events, which Flower shows: sent in batches, and none lost on the way."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from celery.app.events import Events as CeleryEvents
from celery.events import group_from
from celery.events.dispatcher import EventDispatcher

from memshare_broker.steady_thread import steady_thread

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
    """What an app takes its dispatcher from."""

    dispatcher_cls = "memshare_broker.observe.events:Dispatcher"
