"""Builds the memory service and serves the queue `memory`; `celery -A memory_service.worker worker` runs it alone."""

from __future__ import annotations

import atexit
import functools
import sys
from collections.abc import Sequence
from contextlib import ExitStack

from celery import Celery

from broker.app import MEMORY_QUEUE
from broker.connection import connect
from broker.settings import Settings
from broker.worker import Part, open_desk, worker_app
from memory_service.curate import Curate
from memory_service.encoder import Encoder, SentenceTransformerEncoder, SharedBatches
from memory_service.open_store import open_store
from memory_service.recall import Recall
from memory_service.retriever import Retriever
from memory_service.settle import Settle
from memory_service.store import Layout
from memory_service.tasks import register as register_tasks


@functools.cache
def open_encoder(settings: Settings) -> Encoder:
    """The encoder of this process, shared by its threads."""
    encoder = SharedBatches(SentenceTransformerEncoder(settings.encoder))
    encoder.encode(["The first text takes longer than those after it."])
    return encoder


@functools.cache
def open_recall(settings: Settings) -> Recall:
    """The pool as this process reads it; the store is closed when the process ends."""
    encoder = open_encoder(settings)
    closing = ExitStack()
    layout = Layout(encoder.name, encoder.dimension)
    store = closing.enter_context(open_store(settings, layout, owner=" ".join(sys.argv)))
    atexit.register(closing.close)
    return Recall(store, encoder, Retriever(connect(settings.redis), encoder))


def _register(app: Celery, settings: Settings) -> None:
    client = connect(settings.redis)
    register_tasks(
        app,
        desk=lambda: open_desk(settings),
        settle=functools.cache(lambda: Settle(open_recall(settings), client)),
        curate=functools.cache(lambda: Curate(open_recall(settings), client)),
    )


def _warm(settings: Settings, queues: Sequence[str]) -> None:
    if MEMORY_QUEUE in queues:
        open_recall(settings)


part = Part(queues=lambda _: [MEMORY_QUEUE], register=_register, warm=_warm)
app = worker_app(part)
