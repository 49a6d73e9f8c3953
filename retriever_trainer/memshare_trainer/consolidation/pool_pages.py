"""Reads the pool page by page, whoever has it open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from uuid import UUID

import redis

from memshare_broker.app import MEMORY_QUEUE
from memshare_broker.errors import BadInput, MemshareError
from memshare_broker.presence import present
from memshare_broker.settings import Settings
from memshare_memory.door.client import MemoryClient
from memshare_memory.pool.encoder_generation import name_in_use
from memshare_memory.pool.move import Pages
from memshare_memory.stores.open_store import layout_in_use, open_store
from memshare_memory.stores.store import Page, Where

PAGE = 200
OWNER = "memshare retriever"


@contextmanager
def pool_pages(settings: Settings, client: redis.Redis) -> Iterator[tuple[Pages, str]]:
    """The pool's pages and the name of its encoder, for as long as the block runs.

    A folder is read through the worker that has it open, where there is one. Raises `BadInput` where there is no
    pool, and `MemshareError` where it is not clear which one is in use.
    """
    layout = layout_in_use(settings)
    if layout is None:
        place = settings.qdrant_url or settings.data
        raise BadInput(f"There is no pool at {str(place)!r} yet. Start `memshare up`, and submit tasks or import some.")
    name = name_in_use(settings, client) or layout.encoder
    if name != layout.encoder:
        raise MemshareError(
            f"The pool was being moved to the encoder {name!r} when that was broken off, right at its end. Start"
            " `memshare up`, or a worker of the queue 'memory': it completes the move. Then try again."
        )
    if not settings.qdrant_url and any(MEMORY_QUEUE in worker.queues for worker in present(client)):
        with closing(MemoryClient(settings)) as memory:
            yield _asked(memory), name
        return
    with closing(open_store(settings, layout, OWNER)) as store:
        yield (lambda after: store.page(Where(), PAGE, after)), name


def _asked(memory: MemoryClient) -> Pages:
    def page(after: UUID | None) -> Page:
        found = memory.page(Where(), PAGE, after)
        return Page(list(found.memories), found.after)

    return page
