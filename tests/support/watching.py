"""The thread of a worker that is ready, without the worker."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from celery import Celery
from celery.bootsteps import RUN

from memshare_broker.app import make_app
from memshare_broker.settings import Settings
from memshare_broker.worker import Pulse, WorkerWatch


def watch_of(settings: Settings, *pulses: Pulse, app: Celery | None = None) -> WorkerWatch:
    """It is not started yet."""
    consumer: Any = SimpleNamespace(
        hostname="w@host",
        blueprint=SimpleNamespace(state=RUN),
        pool=SimpleNamespace(active=True),
        connection=SimpleNamespace(connected=True),
    )
    return WorkerWatch(app or make_app(settings=settings), settings, consumer, [], pulses)
