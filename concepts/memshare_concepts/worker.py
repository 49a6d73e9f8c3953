"""Builds the concept worker and serves its queue; `celery -A memshare_concepts.worker worker` runs it alone."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from memshare_broker.app import CONCEPTS_QUEUE, App
from memshare_broker.connection import connect
from memshare_broker.delivery.hops import EXTRACT
from memshare_broker.settings import Settings
from memshare_broker.wire.lessons import Extracted, ExtractTask
from memshare_broker.worker import WorkerPart, open_stage_services, worker_app
from memshare_concepts.tasks import Extracting, register
from memshare_llm.batches import Batches
from memshare_llm.build import fit_in_time, open_budget, open_limited, open_metering
from memshare_memory.door.client import MemoryClient


@functools.cache
def _extracting(settings: Settings) -> Extracting:
    client, model = connect(settings.redis), settings.model_for("scorer")
    chat = open_limited(settings, model, "concepts", connections=settings.concurrency)
    ledger, wait = open_stage_services(settings).ledger, settings.concepts_wait
    batches: Batches[ExtractTask, Extracted] = Batches(
        EXTRACT, "concepts", client, ledger, wait, model=model, in_time=fit_in_time(settings, model)
    )
    return Extracting(chat, MemoryClient(settings), open_metering(settings), open_budget(settings).check, batches)


def _register(app: App, settings: Settings) -> None:
    register(app, functools.partial(open_stage_services, settings), functools.partial(_extracting, settings))


def _warm(settings: Settings, queues: Sequence[str]) -> None:
    if CONCEPTS_QUEUE in queues:
        _extracting(settings)


part = WorkerPart(queues=lambda _: [CONCEPTS_QUEUE], register=_register, warm=_warm)
app = worker_app(part)
