"""Builds the memory service and serves its queue; `celery -A memshare.memory_service.worker worker` runs it."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from celery import Celery

from memshare.broker.app import MEMORY_QUEUE
from memshare.broker.connection import connect
from memshare.broker.runtime.worker import Part, open_stage_services, worker_app
from memshare.broker.settings import Settings
from memshare.memory_service.admit.lessons import Lessons
from memshare.memory_service.admit.settle import Settle
from memshare.memory_service.curate.curate import Curate
from memshare.memory_service.pool import encoder_generation as generation
from memshare.memory_service.pool.pool import Pool
from memshare.memory_service.pool.pool_sizes import PoolSizes
from memshare.memory_service.tasks import register as register_tasks


@functools.cache
def open_pool(settings: Settings) -> Pool:
    """The pool as this process sees it, shared by its threads."""
    return generation.open_pool(settings, connect(settings.redis))


def _register(app: Celery, settings: Settings) -> None:
    client = connect(settings.redis)
    register_tasks(
        app,
        services=lambda: open_stage_services(settings),
        settle=functools.cache(
            lambda: Settle(open_pool(settings), client, Lessons(settings.lesson_share), probation=settings.probation)
        ),
        curate=functools.cache(lambda: Curate(open_pool(settings), client)),
    )


def _warm(settings: Settings, queues: Sequence[str]) -> None:
    if MEMORY_QUEUE in queues:
        open_pool(settings)


@functools.cache
def _pool_sizes(settings: Settings) -> PoolSizes:
    return PoolSizes(connect(settings.redis), lambda: open_pool(settings)().store)


def _pulse(settings: Settings, queues: Sequence[str]) -> None:
    if MEMORY_QUEUE in queues:
        _pool_sizes(settings).take()


part = Part(queues=lambda _: [MEMORY_QUEUE], register=_register, warm=_warm, pulse=_pulse)
app = worker_app(part)
