"""Moving a pool to the store of another encoder while it is in use.

A pass brings the other store up to date with the one in use: it writes what is new or changed there and removes
what is gone. Passes can be repeated and broken off; the last one is made while nobody writes.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from uuid import UUID

from memshare_memory.encoders.encoder import Encoder
from memshare_memory.memory import Memory
from memshare_memory.recall.recall import vectors_of
from memshare_memory.stores.pages import every, pages
from memshare_memory.stores.store import Page, Store, Where

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
