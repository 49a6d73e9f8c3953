"""Reads the pool page by page, whoever has it open, and the texts that consolidation trains on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from importlib.resources import files
from typing import NamedTuple
from uuid import UUID

import redis

from memshare_broker.app import MEMORY_QUEUE
from memshare_broker.errors import BadInput, MemshareError
from memshare_broker.presence import present
from memshare_broker.settings import Settings
from memshare_memory.door.client import MemoryClient
from memshare_memory.pool.pool import Pages, name_in_use
from memshare_memory.stores.open_store import layout_in_use, open_store
from memshare_memory.stores.store import Page, Where, pages

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
    if settings.pool_is_embedded and any(MEMORY_QUEUE in worker.queues for worker in present(client)):
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


class Texts(NamedTuple):
    """The encoded text of each memory that a lesson names, and how many memories there are."""

    keys: dict[UUID, str]
    memories: int


def read_texts(fetch: Pages, wanted: Collection[UUID], progress: Callable[[int], None]) -> Texts:
    """Go through the pool once, for the texts of the memories that are wanted; those that were forgotten have none."""
    keys: dict[UUID, str] = {}
    count = 0
    for page in pages(fetch):
        keys |= {memory.id: memory.asked for memory in page.memories if memory.id in wanted}
        count += len(page.memories)
        progress(count)
    return Texts(keys, count)


def general_texts() -> list[str]:
    """Texts of all sorts, which no agent is likely to be for."""
    return files("memshare_trainer.consolidation").joinpath("general.txt").read_text(encoding="utf-8").splitlines()
