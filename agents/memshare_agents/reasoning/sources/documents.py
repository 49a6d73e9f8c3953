"""The documents of the settings: files in folders, and single files; and the library, the pool of their passages."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from uuid import UUID

import redis
from redis.exceptions import LockError

from memshare_agents.reasoning.sources.extract_text import Kind, SourcePage, page_of, pieces
from memshare_broker.errors import BadInput, GiveUp, NotYet, TryAgain
from memshare_broker.wire.messages import Message, derived_id
from memshare_broker.wire.same_text import decode
from memshare_memory.curate.requests import Forget
from memshare_memory.door.client import BATCH, MemoryClient
from memshare_memory.door.messages import Found, SearchRequest
from memshare_memory.memory import Memory
from memshare_memory.stores.store import Where

SUFFIXES: dict[str, Kind] = {
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".pdf": "pdf",
    ".txt": "plain",
    ".md": "plain",
}
"""The files that are documents; any others are passed over."""


class Documents:
    """Files that may be read; each is called by its path in its folder.

    Where there are several folders and files, the name of the folder stands before the path. Nothing outside and
    nothing hidden is read, whatever links and dots say.
    """

    def __init__(self, places: Sequence[Path], most: int) -> None:
        """`most` is the size of the largest document in bytes; raises `BadInput` for places that cannot be used."""
        self._most = most
        self._places: dict[str, Path] = {}
        for place in places:
            real = place.resolve()
            if not real.is_dir() and real.suffix.lower() not in SUFFIXES:
                raise BadInput(
                    f"MEMSHARE_DOCUMENTS: {str(place)!r} is neither a folder nor a file that ends with one of"
                    f" {', '.join(SUFFIXES)}."
                )
            if not real.exists():
                raise BadInput(f"MEMSHARE_DOCUMENTS: there is no file {str(place)!r}.")
            name = "" if len(places) == 1 and real.is_dir() else real.name
            if name in self._places:
                raise BadInput(f"MEMSHARE_DOCUMENTS names two places called {name!r}. Rename one of them.")
            self._places[name] = real

    @property
    def places(self) -> tuple[Path, ...]:
        """The folders and files, without links."""
        return tuple(self._places.values())

    def __iter__(self) -> Iterator[str]:
        """Names of the documents, in order; hidden files and links that lead outside are no documents."""
        for name, place in sorted(self._places.items()):
            if place.is_file():
                yield name
                continue
            for path in sorted(place.rglob("*")):
                parts = path.relative_to(place).parts
                source = "/".join((name, *parts) if name else parts)
                if source.isprintable() and not _is_hidden(parts) and _file(path, place) is not None:
                    yield source

    def path(self, source: str) -> Path:
        """Where a document lies; raises `BadInput` for what is none."""
        for name, place in self._places.items():
            before = f"{name}/" if name else ""
            if source != name and not source.startswith((before, "/")):
                continue
            path = _file(place if source == name else place / source.removeprefix(before), place)
            if path is not None:
                return path
        raise BadInput(f"There is no document {source[:200]!r}. Expected a path in MEMSHARE_DOCUMENTS, or a URL.")

    def data(self, source: str) -> bytes:
        """Contents of a document's file; raises `GiveUp` where they cannot be read or are too much."""
        try:
            with self.path(source).open("rb") as file:
                data = file.read(self._most + 1)
        except OSError as error:
            raise GiveUp(f"{source!r} cannot be read: {error.strerror}.") from error
        if len(data) > self._most:
            raise GiveUp(f"{source!r} has more than {self._most:,} bytes (MEMSHARE_BROWSER_BYTES).", "too long")
        return data

    def changed(self, source: str) -> float:
        """When a document was written last, in seconds of Unix time; raises `GiveUp` where it is gone."""
        try:
            return self.path(source).stat().st_mtime
        except OSError as error:
            raise GiveUp(f"{source!r} cannot be read: {error.strerror}.") from error

    def page(self, source: str, data: bytes) -> SourcePage:
        """The page of a document; raises `GiveUp` for one that cannot be read or has no text, `BadInput` for one that
        is not UTF-8."""
        if (kind := SUFFIXES[self.path(source).suffix.lower()]) == "plain":
            decode(data, source)  # a page may say its encoding, and a text cannot
        return page_of(source, data, kind)


def _file(named: Path, place: Path) -> Path | None:
    """The document that a path leads to in its place; None where there is none, or one that is hidden or outside."""
    try:
        path = named.resolve()
        inside = path.relative_to(place).parts
        return path if not _is_hidden(inside) and path.is_file() and path.suffix.lower() in SUFFIXES else None
    except (OSError, RuntimeError, ValueError):  # no name of a file, not to be looked at, a circle of links, outside
        return None


def _is_hidden(parts: Sequence[str]) -> bool:
    return any(part.startswith(".") for part in parts)


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
        stored: defaultdict[UUID, set[UUID]] = defaultdict(set)
        for passage in self._memory.every(Where(pool=self._name, kind=KIND)):
            for document in passage.parents:
                stored[document].add(passage.id)
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
        if gone:
            self._memory.forget(Forget(ids=tuple(gone)))
        log.info("The documents are indexed. pool=%s documents=%d", self._name, len(wanted))
        return wanted

    def _add(self, source: str, document: UUID, data: bytes) -> None:
        page = self._documents.page(source, data)
        created = self._documents.changed(source)
        passages = memories_of(self._name, document, page, created)[::-1]
        for start in range(0, len(passages), BATCH):
            self._alive()
            self._memory.restore(passages[start : start + BATCH])
        log.info("Indexed %r: %d passages.", source, len(passages))


LOOK_AGAIN, HOLD = 3.0, "documents"  # seconds until a task is tried again that waits for its documents


class Library:
    """The documents of the settings as they were when they were indexed. Safe to use from many threads."""

    def __init__(self, memory: MemoryClient, name: str) -> None:
        """`name` is that of the documents' own pool. They are still being indexed, until `open` is called."""
        self._memory = memory
        self._name = name
        self._documents: Mapping[str, UUID] | None = None

    def open(self, documents: Mapping[str, UUID]) -> None:
        """From now on these documents can be searched: their ids, by what they are called."""
        self._documents = documents

    def require_indexed(self) -> Mapping[str, UUID]:
        """The ids of the documents; raises `NotYet` while they are being indexed: half of them may mislead."""
        if self._documents is None:
            raise NotYet("Its documents are being indexed; the worker's log says how far.", LOOK_AGAIN, hold=HOLD)
        return self._documents

    @property
    def sources(self) -> list[str]:
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
