"""Builds the memory service and serves the queue `memory`; `celery -A memory_service.worker worker` runs it alone."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from celery import Celery

from broker.app import MEMORY_QUEUE
from broker.connection import connect
from broker.settings import Settings
from broker.worker import Part, open_desk, worker_app
from memory_service import generation
from memory_service.census import Census
from memory_service.curate import Curate
from memory_service.lessons import Lessons
from memory_service.pool import Pool
from memory_service.settle import Settle
from memory_service.tasks import register as register_tasks


@functools.cache
def open_pool(settings: Settings) -> Pool:
    """The pool as this process sees it, shared by its threads."""
    return generation.open_pool(settings, connect(settings.redis))


def _register(app: Celery, settings: Settings) -> None:
    client = connect(settings.redis)
    register_tasks(
        app,
        desk=lambda: open_desk(settings),
        settle=functools.cache(
            lambda: Settle(open_pool(settings), client, Lessons(settings.lesson_share), probation=settings.probation)
        ),
        curate=functools.cache(lambda: Curate(open_pool(settings), client)),
    )


def _warm(settings: Settings, queues: Sequence[str]) -> None:
    if MEMORY_QUEUE in queues:
        open_pool(settings)


@functools.cache
def _census(settings: Settings) -> Census:
    return Census(connect(settings.redis), lambda: open_pool(settings)().store)


def _pulse(settings: Settings, queues: Sequence[str]) -> None:
    if MEMORY_QUEUE in queues:
        _census(settings).take()


part = Part(queues=lambda _: [MEMORY_QUEUE], register=_register, warm=_warm, pulse=_pulse)
app = worker_app(part)
