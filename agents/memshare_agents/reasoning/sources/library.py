"""The library: passages of the documents, found by words and by meaning."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from uuid import UUID

import redis
from redis.exceptions import LockError

from memshare_agents.reasoning.sources.documents import Documents
from memshare_agents.reasoning.sources.extract_text import SourcePage, pieces
from memshare_broker.errors import BadInput, GiveUp, NotYet, TryAgain
from memshare_broker.wire.messages import Message, derived_id
from memshare_memory.curate.requests import Forget
from memshare_memory.door.client import BATCH, MemoryClient
from memshare_memory.door.messages import Found, SearchRequest
from memshare_memory.memory import Memory
from memshare_memory.stores.store import Where

LENGTH = 800
"""Most characters of a passage: of these the bundled encoder reads all."""

KIND = "passage"
SUBMITTER = "documents"

_FORM = "1"  # of what is stored; another one indexes every document anew
_BETWEEN = "\t"  # title and source: neither contains one


class Passage(Message):
    """Some sentences of a document, and their cosine similarity to what was asked."""

    text: str
    source: str
    title: str
    similarity: float
    memory_id: UUID


def pool_of(places: Sequence[Path]) -> str:
    """The name of the pool for the documents in these places."""
    names = "\n".join(sorted(map(str, places)))
    return f"documents-{blake2b(names.encode(), digest_size=8).hexdigest()}"


def document_id(pool: str, source: str, data: bytes) -> UUID:
    """The id of what stands in a document: another one as soon as a byte is changed."""
    return derived_id("document", _FORM, pool, source, blake2b(data, digest_size=16).hexdigest())


def passage_id(document: UUID, number: int) -> UUID:
    """The id of a passage, counted from 0."""
    return derived_id("passage", str(document), str(number))


def memories_of(pool: str, document: UUID, page: SourcePage, created: float) -> list[Memory]:
    """The passages of a page, each a statement that begins with title and source.

    The document stands where a pair's parents do: a passage comes from it, and is found by it. `created` is the
    document's time, in seconds of Unix time.
    """
    return [
        Memory(
            id=passage_id(document, number),
            pool=pool,
            prompt=None,
            answer=f"{page.title}{_BETWEEN}{page.source}\n{text}",
            kind=KIND,
            submitter=SUBMITTER,
            parents=(document,),
            created=created,
        )
        for number, text in enumerate(pieces(page.text, LENGTH))
    ]


def passage_of(found: Found) -> Passage:
    """The passage that was found."""
    heading, _, text = found.memory.answer.partition("\n")
    title, _, source = heading.partition(_BETWEEN)
    return Passage(text=text, source=source, title=title, similarity=found.similarity, memory_id=found.memory.id)


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


LOOK_AGAIN, HOLD = 3.0, "documents"  # seconds until a task is tried again that waits for its documents


class Library:
    """The documents of the settings as they were when they were indexed. Safe to use from many threads."""

    def __init__(self, memory: MemoryClient, name: str, documents: Mapping[str, UUID] | None = None) -> None:
        """`name` is that of the documents' own pool, `documents` their ids by what they are called.

        Without `documents` they are still being indexed, until `open` is called.
        """
        self._memory = memory
        self._name = name
        self._documents = documents

    def open(self, documents: Mapping[str, UUID]) -> None:
        """From now on these documents can be searched."""
        self._documents = documents

    def require_indexed(self) -> Mapping[str, UUID]:
        """The ids of the documents; raises `NotYet` while they are being indexed: half of them may mislead."""
        if self._documents is None:
            raise NotYet("Its documents are being indexed; the worker's log says how far.", LOOK_AGAIN, hold=HOLD)
        return self._documents

    @property
    def sources(self) -> list[str]:
        """Names of the documents, in order."""
        return sorted(self.require_indexed())

    def search(self, text: str, k: int, documents: Sequence[str] = ()) -> list[Passage]:
        """The best k passages by reciprocal rank of words and cosine, best first.

        With `documents`, of these files and folders only; raises `BadInput` for one that is not in the index.
        """
        chosen = [one for name in documents for one in self._named(name)]
        if k < 1:
            return []
        where = Where(pool=self._name, kind=KIND, status="active", parents=chosen if documents else None)
        found = self._memory.search(SearchRequest(text=text, k=k, mode="hybrid", where=where))
        return [passage_of(one) for one in found]

    def _named(self, name: str) -> list[UUID]:
        folder = name.rstrip("/") + "/"
        found = [one for source, one in self.require_indexed().items() if source == name or source.startswith(folder)]
        if not found:
            raise BadInput(f"There is no document or folder {name!r} in the index. Expected one of MEMSHARE_DOCUMENTS.")
        return found
