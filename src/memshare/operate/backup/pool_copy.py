"""Copies a pool that is in use, from the door of its memory service to a file, as it is at one moment.

Passes go over the whole pool while others write; each brings the copy up to date. The last one is made while nobody
writes, and has little left to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import IO, NamedTuple
from uuid import UUID

from memshare_broker.errors import TryAgain
from memshare_memory.door.client import MemoryClient
from memshare_memory.door.messages import LONGEST_PAGE, RawMemories, RawRequest

PAGE = 500  # memories with their vectors, some 2.5 kB each
FEW = 100  # changes that the last pass may find
MOST_PASSES = 10


class _Copied(NamedTuple):
    """The digest of a memory's text, and where its line is in the file."""

    digest: str
    place: int
    length: int


class PoolCopy:
    """A copy of a pool in a file that is read and written."""

    def __init__(self, memories: MemoryClient, file: IO[bytes]) -> None:
        self._memories = memories
        self._file = file
        self._copied: dict[str, _Copied] = {}
        self.encoder: str | None = None

    def __len__(self) -> int:
        return len(self._copied)

    def copy(self, progress: Callable[[int], None]) -> None:
        """Copy all there is, and go on until little changes; `progress` is told how many were copied."""
        after: UUID | None = None
        while True:
            page = self._ask(RawRequest(limit=PAGE, after=after))
            self._take(page)
            progress(page.seen)
            after = page.after
            if after is None:
                break
        for _ in range(MOST_PASSES):
            if self.catch_up() <= FEW:
                return

    def catch_up(self) -> int:
        """Bring the copy up to date; returns how many memories had changed."""
        seen: set[str] = set()
        changed: list[str] = []
        after: UUID | None = None
        while True:
            page = self._ask(RawRequest(limit=LONGEST_PAGE, after=after, only="digests"))
            seen |= page.digests.keys()
            changed += [one for one, digest in page.digests.items() if self._digest_of(one) != digest]
            after = page.after
            if after is None:
                break
        for one in changed:
            self._take(self._ask(RawRequest(limit=1, after=UUID(one))))
        gone = self._copied.keys() - seen
        for one in gone:
            del self._copied[one]
        return len(changed) + len(gone)

    def lines(self) -> Iterator[bytes]:
        """The memories in the order of their ids, one JSON text a line."""
        for _, one in sorted(self._copied.items()):
            self._file.seek(one.place)
            yield self._file.read(one.length)

    def _ask(self, request: RawRequest) -> RawMemories:
        page = self._memories.raw(request)
        if self.encoder not in (None, page.encoder):
            raise TryAgain("The pool has moved to another encoder meanwhile. Run this again.")
        self.encoder = page.encoder
        return page

    def _take(self, page: RawMemories) -> None:
        self._file.seek(0, 2)
        for one in page.memories:
            line = one.model_dump_json(exclude_none=True).encode() + b"\n"
            self._copied[str(one.id)] = _Copied(one.digest, self._file.tell(), len(line))
            self._file.write(line)

    def _digest_of(self, one: str) -> str | None:
        known = self._copied.get(one)
        return known.digest if known else None
