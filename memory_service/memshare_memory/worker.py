"""Builds the memory service: the owner of encoder and pool, which consumes its queue and answers at its door.

`celery -A memshare_memory.worker worker` runs it. Its tasks settle graded pairs, credit memories, write what was found
out of them, and recall for foreign clients.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from memshare_broker.app import MEMORY_QUEUE, App
from memshare_broker.connection import connect
from memshare_broker.delivery.hops import CREDIT, NOTE_COMPARED, NOTE_CONCEPTS, SETTLE
from memshare_broker.delivery.incoming import SHORT_REQUEST
from memshare_broker.delivery.stage import Stage, add_stage
from memshare_broker.errors import BadInput, MemshareError
from memshare_broker.observe.safe_text import REPR_LENGTH
from memshare_broker.settings import Settings
from memshare_broker.wire.forms import readable
from memshare_broker.worker import WorkerPart, at_shutdown, open_stage_services, worker_app
from memshare_memory.admit.after import Lessons, note_compared, note_concepts
from memshare_memory.admit.settle import SettleStage
from memshare_memory.belief.bandit import Bandit
from memshare_memory.curate.curate import Curate, hide_expired
from memshare_memory.curate.forgetting import Forgetting
from memshare_memory.door.app import DoorServer, door_app
from memshare_memory.door.client import check_door, listen
from memshare_memory.door.messages import RecallRequest
from memshare_memory.door.service import RecallBatches, Service
from memshare_memory.pool.known_pools import KnownPools, PoolSizes
from memshare_memory.pool.owner import Claim, claim
from memshare_memory.pool.pool import Pool, open_pool


@functools.cache
def _pool(settings: Settings) -> Pool:
    """The pool as this process sees it, shared by its threads."""
    return open_pool(settings, connect(settings.redis), lambda: _claim(settings))


@functools.cache
def _claim(settings: Settings) -> Claim | None:
    """This process's claim on its Redis, made when it has its folder."""
    return claim(connect(settings.redis), settings)


@functools.cache
def _recalls(settings: Settings) -> RecallBatches:
    return RecallBatches(_pool(settings))


@functools.cache
def open_door(settings: Settings) -> DoorServer:
    """The door of this process, open to who asks."""
    pool = _pool(settings)
    client = connect(settings.redis)
    known = KnownPools(client, lambda: pool().store)
    send = functools.partial(open_stage_services(settings).send, app)
    concepts, bandit = settings.concepts, Bandit(settings.alpha, settings.credit_half_life)
    curate = Curate(
        pool, client, send, _lessons(settings), concepts=concepts, text_limit=settings.prompt_limit, bandit=bandit
    )
    service = Service(pool, curate, Forgetting(pool, client, send, concepts=concepts, bandit=bandit), known)
    token = settings.memory_token.get_secret_value() if settings.memory_token else None
    door = DoorServer(door_app(service, _recalls(settings), token), listen(settings))
    door.start()
    return door


@functools.cache
def _lessons(settings: Settings) -> Lessons:
    return Lessons(connect(settings.redis), settings.lesson_share, learn=settings.learn)


def _register(app: App, settings: Settings) -> None:
    """Register the tasks; what they need is built when the first message comes."""
    check_door(settings)
    client = connect(settings.redis)
    services = functools.partial(open_stage_services, settings)
    settle = functools.cache(
        lambda: SettleStage(
            _pool(settings),
            client,
            _lessons(settings),
            # At least for as long as a settlement may be tried again, or it would credit twice.
            keep_days=max(settings.keep_days, settings.retry_hours / 24 + 1),
            concepts=settings.concepts,
            text_limit=settings.prompt_limit,
            bandit=Bandit(settings.alpha, settings.credit_half_life),
        )
    )
    add_stage(app, Stage(SETTLE, lambda journey, graded: settle().run(journey, graded)), services)
    add_stage(app, Stage(CREDIT, lambda _, task: settle().credit(task)), services)
    add_stage(app, Stage(NOTE_CONCEPTS, lambda _, extracted: note_concepts(_pool(settings), extracted)), services)
    add_stage(app, Stage(NOTE_COMPARED, lambda _, pairs: note_compared(_pool(settings), client, pairs)), services)

    @app.task(
        name="memory_service.recall",
        throws=(MemshareError,),
        resultrepr_maxsize=REPR_LENGTH,
        Request=SHORT_REQUEST,
    )
    def recall(request: dict[str, Any]) -> dict[str, Any]:
        """Recall for clients that speak Celery alone; everybody else asks at the door."""
        try:
            wanted = RecallRequest.model_validate(request)
        except ValidationError as error:
            raise BadInput(readable(error, "memory_service.recall")) from error
        return _recalls(settings).ask(wanted).result().model_dump(mode="json", exclude={"embedding"})


def _warm(settings: Settings, queues: Sequence[str]) -> None:
    if MEMORY_QUEUE not in queues:
        return
    door, claimed = open_door(settings), _claim(settings)

    def close(**_: object) -> None:
        door.close()
        if claimed is not None:
            claimed.release()

    at_shutdown(close)


@functools.cache
def _pool_sizes(settings: Settings) -> PoolSizes:
    return PoolSizes(connect(settings.redis), lambda: _pool(settings)().store)


def _pulse(settings: Settings, queues: Sequence[str]) -> None:
    if MEMORY_QUEUE in queues:
        hide_expired(_pool(settings))
        _pool_sizes(settings).take()


part = WorkerPart(queues=lambda _: [MEMORY_QUEUE], register=_register, warm=_warm, pulse=_pulse)
app = worker_app(part)
