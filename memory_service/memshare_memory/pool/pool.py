"""The pool in the generation that is in use: one encoder, and the store whose vectors it made.

Consolidation builds the next generation beside it and names its encoder in Redis: that is the swap, in one step. Every
process notices at its next recall, opens the new generation and lets go of the old one. Memories get into the other
store by passes (`Move`): each writes what is new or changed there and removes what is gone. Passes can be repeated and
broken off; the last one is made while nobody writes.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from uuid import UUID

import redis

from memshare_broker.errors import MemshareError, TryAgain
from memshare_memory.encoders.encoder import ENCODER, Encoder
from memshare_memory.memory import Memory
from memshare_memory.pool.owner import WriteGate
from memshare_memory.recall.recall import Recall, vectors_of
from memshare_memory.stores.store import Page, Store, Where, every, pages

BATCH = 64

Pages = Callable[[UUID | None], Page]
"""All memories of the pool in use in the order of their ids: the page that begins with this one."""


class Move:
    """The copy of a pool into another store, which may have been begun before."""

    def __init__(self, pages: Pages, target: Store, encoder: Encoder) -> None:
        self._pages = pages
        self._target = target
        self._encoder = encoder
        self._copied = {memory.id: _digest(memory) for memory in every(target, Where())}

    def catch_up(self, progress: Callable[[int], None]) -> int:
        """Make one pass, and return how many memories it wrote or removed; `progress` is told how many it has seen."""
        seen: set[UUID] = set()
        changes = 0
        for page in pages(self._pages):
            changed = [one for one in page.memories if self._copied.get(one.id) != _digest(one)]
            for start in range(0, len(changed), BATCH):
                batch = changed[start : start + BATCH]
                self._target.put(list(zip(batch, vectors_of(self._encoder, batch), strict=True)))
                self._copied |= {memory.id: _digest(memory) for memory in batch}
            seen |= {memory.id for memory in page.memories}
            changes += len(changed)
            progress(len(seen))
        gone = list(self._copied.keys() - seen)
        self._target.delete(gone)
        for one in gone:
            del self._copied[one]
        return changes + len(gone)


def _digest(memory: Memory) -> bytes:
    return blake2b(memory.model_dump_json().encode(), digest_size=16).digest()


log = logging.getLogger(__name__)

TRY_AGAIN_AFTER = 30.0  # seconds, when a new generation cannot be opened


class Pool:
    """Gives out the `Recall` of the generation in use; who holds one finishes with it, swapped or not."""

    def __init__(self, client: redis.Redis, current: Recall, open_generation: Callable[[str], Recall]) -> None:
        self._client = client
        self._current = current
        self._open_generation = open_generation
        self._gate = WriteGate(client)
        self._opening = threading.Lock()
        self._not_before = 0.0

    def __call__(self) -> Recall:
        """The generation to read from: the one before it while the newest is being opened, or cannot be."""
        name = self._client.get(ENCODER)
        if name in (None, self._current.encoder_name):
            return self._current
        if self._opening.acquire(blocking=False):
            try:
                self._turn_to(str(name))
            except MemshareError as error:
                log.error("Goes on with the encoder %s: %s", self._current.encoder_name, error)
            finally:
                self._opening.release()
        return self._current

    @contextmanager
    def writing(self, alone_in: str | None = None) -> Iterator[Recall]:
        """The generation to write to, which does not change while the block runs.

        With `alone_in`, nobody else is in such a block for the same pool. Raises `TryAgain` when the generation cannot
        be opened here: what is written to an older one would be lost.
        """
        with self._gate.writing(alone_in) as name:
            if name not in (None, self._current.encoder_name):
                with self._opening:
                    self._turn_to(str(name))
            if name not in (None, self._current.encoder_name):
                raise TryAgain(f"The pool has moved to the encoder {name!r}, which cannot be opened here just now.")
            yield self._current

    def _turn_to(self, name: str) -> None:
        if name == self._current.encoder_name or time.monotonic() < self._not_before:
            return
        self._not_before = time.monotonic() + TRY_AGAIN_AFTER
        self._current = self._open_generation(name)
        self._not_before = 0.0
        log.info("Uses the encoder %s and the store that it made.", name)
