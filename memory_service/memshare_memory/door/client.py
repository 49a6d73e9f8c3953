"""Asks the memory service: what every other part knows of the pool, it knows by this."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from memshare_broker.errors import BadInput, TryAgain
from memshare_broker.settings import Settings
from memshare_broker.wire.messages import Embedding
from memshare_memory.curate.requests import (
    ConflictDecision,
    Edit,
    Forget,
    NewMemory,
    RestoreForgotten,
    TrashRequest,
)
from memshare_memory.door import methods
from memshare_memory.door.connection import DoorConnection
from memshare_memory.door.messages import (
    EmbedRequest,
    Found,
    JudgedMemory,
    MemoryPage,
    PageRequest,
    RawMemories,
    RawRequest,
    RecallRequest,
    Recollection,
    SearchRequest,
    Stats,
)
from memshare_memory.forget.answers import FilesRewritten, ForgetPreview, Purged, Restored, TrashPage
from memshare_memory.memory import Memory
from memshare_memory.recall.conflicts import Conflict
from memshare_memory.stores.store import Order, Where

POLL = 0.1  # seconds
BATCH = 256  # memories sent at once


class MemoryClient:
    """A connection to the memory service, made when it is first used. Safe to share between threads.

    Every method raises `TryAgain` where the service is away, slow, or breaks off, and `BadInput` or `GiveUp` for what
    it refuses.
    """

    def __init__(self, settings: Settings) -> None:
        self._connection = DoorConnection(settings)

    def recall(self, request: RecallRequest) -> Recollection:
        """The memories that may be shown with a task, best first."""
        return self._connection.ask(methods.RECALL, request)

    def embed(self, text: str, asked_by: str | None = None) -> Embedding:
        """The vector of a text, by the encoder in use."""
        return self._connection.ask(methods.EMBED, EmbedRequest(text=text, asked_by=asked_by))

    def embed_each(self, texts: Sequence[str]) -> list[Embedding]:
        """The vectors of several texts, in their order."""
        return [one for batch in _batches(texts) for one in self._connection.ask(methods.EMBED_EACH, batch)]

    def vectors(self, ids: Sequence[UUID]) -> dict[UUID, Embedding]:
        """The vectors that memories are found by; unknown ids are left out."""
        parts = (self._connection.ask(methods.VECTORS, batch) for batch in _batches(ids))
        return {one: vector for part in parts for one, vector in part.items()}

    def search(self, request: SearchRequest) -> tuple[Found, ...]:
        """The memories nearest to a text, whatever has become of them."""
        return self._connection.ask(methods.SEARCH, request)

    def page(self, where: Where, limit: int = 200, after: UUID | None = None) -> MemoryPage:
        """Some memories in the order of their ids."""
        return self._connection.ask(methods.PAGE, PageRequest(where=where, limit=limit, after=after))

    def first(self, where: Where, order: Order, limit: int) -> tuple[Memory, ...]:
        """The first memories in an order; those without a score stand below all others."""
        return self._connection.ask(methods.PAGE, PageRequest(where=where, limit=limit, order=order)).memories

    def every(self, where: Where) -> Iterator[Memory]:
        """All memories that are meant, in the order of their ids, page by page."""
        page = self.page(where)
        yield from page.memories
        while page.after is not None:
            page = self.page(where, after=page.after)
            yield from page.memories

    def raw(self, request: RawRequest) -> RawMemories:
        """Some of what lies in the store, readable or not."""
        return self._connection.ask(methods.RAW, request)

    def drop_damaged(self, ids: Sequence[UUID]) -> list[UUID]:
        """Remove what cannot be read; returns what was removed, which leaves out every memory that can be read."""
        return [one for batch in _batches(ids) for one in self._connection.ask(methods.DROP_DAMAGED, batch)]

    def stats(self, timeout: float | None = None) -> Stats:
        """How many memories there are."""
        return self._connection.ask(replace(methods.STATS, seconds=timeout) if timeout else methods.STATS, None)

    def get(self, memory_id: UUID) -> Memory:
        """One memory; raises `BadInput` for an unknown id."""
        return self._connection.ask(methods.GET, memory_id)

    def add(self, memories: Sequence[NewMemory]) -> list[UUID]:
        """Bring memories in; the same again is the same memory, and keeps its history."""
        return [one for batch in _batches(memories) for one in self._connection.ask(methods.ADD, batch)]

    def restore(self, memories: Sequence[Memory]) -> list[UUID]:
        """Write memories as they are, such as exported ones."""
        return [one for batch in _batches(memories) for one in self._connection.ask(methods.RESTORE, batch)]

    def edit(self, edit: Edit) -> Memory:
        """Change a memory in its place; returns it as it is now."""
        return self._connection.ask(methods.EDIT, edit)

    def forget_preview(self, forget: Forget) -> ForgetPreview:
        """What `forget` or `purge` would take, and nothing is done."""
        return self._connection.ask(methods.FORGET_PREVIEW, forget)

    def forget(self, forget: Forget) -> list[UUID]:
        """Take memories out of the pool, into the trash; returns the ids of those taken."""
        return self._connection.ask(methods.FORGET, forget)

    def trash(self, request: TrashRequest) -> TrashPage:
        """What is in the trash, the last one forgotten first."""
        return self._connection.ask(methods.TRASH, request)

    def restore_forgotten(self, request: RestoreForgotten) -> Restored:
        """Take memories back out of the trash, as they were."""
        return self._connection.ask(methods.RESTORE_FORGOTTEN, request)

    def purge(self, forget: Forget) -> Purged:
        """Remove memories for good, from the pool, the trash, and all that Redis tells of them."""
        return self._connection.ask(methods.PURGE, forget)

    def rewrite(self) -> FilesRewritten:
        """Rewrite the files of pool and Redis, which have what was purged until then; returns when that is done."""
        return self._connection.ask(methods.REWRITE, None)

    def judge(self, ids: Sequence[UUID]) -> list[JudgedMemory]:
        """Memories with their credibility and what contradicts them; unknown ids are left out."""
        wanted = list(dict.fromkeys(ids))
        return [one for batch in _batches(wanted) for one in self._connection.ask(methods.JUDGE, batch)]

    def judge_one(self, memory_id: UUID) -> JudgedMemory:
        """One memory with its credibility; raises `BadInput` for an unknown id."""
        found = self.judge([memory_id])
        if not found:
            raise BadInput(f"No memory has the id {str(memory_id)!r}. `memshare memories list` shows them.")
        return found[0]

    def conflicts(self, pool: str) -> list[Conflict]:
        """Every two memories of a pool that contradict each other."""
        return self._connection.ask(methods.CONFLICTS, pool)

    def decide(self, decision: ConflictDecision) -> None:
        """Say of two memories whether they contradict each other; no model's word undoes it."""
        self._connection.ask(methods.DECIDE, decision)

    def wait_until_ready(self, seconds: float) -> None:
        """Return when the service answers; raises `TryAgain` where it does not within so many seconds."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                self.stats()
                return
            except TryAgain:
                if time.monotonic() > deadline:
                    raise
                time.sleep(POLL)

    def close(self) -> None:
        self._connection.close()


def _batches(items: Sequence[Any]) -> Iterator[list[Any]]:
    for start in range(0, len(items), BATCH):
        yield list(items[start : start + BATCH])
