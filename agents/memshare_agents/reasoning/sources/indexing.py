"""Indexing: the passages in the store are those of the documents as they are now."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

import redis
from redis.exceptions import LockError

from memshare_agents.reasoning.sources.documents import Documents
from memshare_agents.reasoning.sources.passages import KIND, document_id, memories_of, passage_id
from memshare_broker.errors import BadInput, GiveUp, TryAgain
from memshare_memory.curate.requests import Forget
from memshare_memory.door.client import BATCH, MemoryClient
from memshare_memory.stores.store import Where

log = logging.getLogger(__name__)

LOCK_SECONDS = 120  # since the last sign of life; one that was killed holds the lock for no longer
PATIENCE = 500  # seconds that a worker waits for another one to index
_POLL = 0.2


def index(memory: MemoryClient, name: str, documents: Documents, client: redis.Redis) -> dict[str, UUID]:
    """Bring the pool `name` up to date with the documents; returns the id of each by what it is called.

    A document that has not changed is not read again; one that cannot be read is left out, and the log says why.
    Where several processes do this at once, one does it and the others wait. Raises `TryAgain` when that takes
    longer than they wait, or when the pool is being moved.
    """
    lock = client.lock(f"memshare:index:{name}", timeout=LOCK_SECONDS, blocking_timeout=PATIENCE, sleep=_POLL)
    try:
        with lock:
            return _Index(memory, name, documents, alive=lambda: lock.reacquire()).update()
    except LockError as error:
        raise TryAgain("Another worker is indexing the documents.", wait=30) from error


class _Index:
    def __init__(self, memory: MemoryClient, name: str, documents: Documents, alive: Callable[[], object]) -> None:
        self._memory = memory
        self._name = name
        self._documents = documents
        self._alive = alive

    def update(self) -> dict[str, UUID]:
        stored = self._stored()
        wanted: dict[str, UUID] = {}
        for source in self._documents:
            self._alive()
            try:
                data = self._documents.data(source)
                document = document_id(self._name, source, data)
                # The first passage is written last: where it is, the whole document is.
                if passage_id(document, 0) not in stored.get(document, ()):
                    self._add(source, document, data)
                wanted[source] = document
            except (BadInput, GiveUp) as error:
                log.warning("Left out of the index: %r: %s", source, error)
        gone = [one for document, passages in stored.items() if document not in wanted.values() for one in passages]
        self._remove(gone)
        log.info("The documents are indexed. pool=%s documents=%d", self._name, len(wanted))
        return wanted

    def _stored(self) -> Mapping[UUID, set[UUID]]:
        """The passages of each document that are in the store."""
        stored: defaultdict[UUID, set[UUID]] = defaultdict(set)
        for passage in self._memory.every(Where(pool=self._name, kind=KIND)):
            for document in passage.parents:
                stored[document].add(passage.id)
        return stored

    def _add(self, source: str, document: UUID, data: bytes) -> None:
        page = self._documents.page(source, data)
        created = self._documents.changed(source)
        passages = memories_of(self._name, document, page, created)[::-1]
        for start in range(0, len(passages), BATCH):
            self._alive()
            self._memory.restore(passages[start : start + BATCH])
        log.info("Indexed %r: %d passages.", source, len(passages))

    def _remove(self, passages: Sequence[UUID]) -> None:
        if passages:
            self._memory.forget(Forget(ids=tuple(passages)))
