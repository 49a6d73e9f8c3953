"""The library: passages of the documents, found by words and by meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from memshare_agents.reasoning.sources.passages import KIND, Passage, passage_of
from memshare_broker.errors import BadInput, NotYet
from memshare_memory.door.client import MemoryClient
from memshare_memory.door.messages import SearchRequest
from memshare_memory.stores.store import Where

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
        """What the documents are called, in order."""
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
