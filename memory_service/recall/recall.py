"""Recall: the memories of a pool that are nearest to a task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memshare.broker.wire.messages import Embedding
from memshare.memory_service.encoders.encoder import Encoder
from memshare.memory_service.memory import SHOWN, Memory
from memshare.memory_service.recall.credibility_ranking import CredibilityRanking
from memshare.memory_service.recall.retriever import Retriever
from memshare.memory_service.recall.select_shown import choose, used_up
from memshare.memory_service.stores.bm25 import document, query
from memshare.memory_service.stores.store import Hit, Sparse, Store, Vectors, Where

Mode = Literal["dense", "hybrid"]

CANDIDATES = 10  # of each ranking (INMS, arXiv 2404.09982)
SPARE = 2  # memories looked at for each one that is shown, as some have the same prompt


class Recalled(NamedTuple):
    """What was found, best first, and by which version of the retriever."""

    hits: list[Hit]
    retriever_version: int


class Recall:
    """Finds memories, and makes the vectors by which they are found.

    With a `ranking`, what was found is ranked by credibility, too.
    Of the memories shown, at most `submitter_share` come from one submitter where there are others.
    """

    def __init__(
        self,
        store: Store,
        encoder: Encoder,
        retriever: Retriever,
        ranking: CredibilityRanking | None = None,
        submitter_share: float = 1,
    ) -> None:
        self.store = store
        self._ranking = ranking
        self._share = submitter_share
        self._encoder = encoder
        self._retriever = retriever

    @property
    def encoder_name(self) -> str:
        """What stands beside every vector of this store."""
        return self._encoder.name

    def embed(self, text: str) -> Embedding:
        """The vector of a text, ready to travel with a message, so that it is made once a journey."""
        return Embedding.pack(self._encoder.name, self._encoder.encode([text])[0])

    def vector(self, embedding: Embedding | None, text: str) -> NDArray[np.float32]:
        """The vector that came with a message; made here when none did, or another encoder made it."""
        if embedding is not None and embedding.encoder == self._encoder.name:
            return embedding.unpack()
        made: NDArray[np.float32] = self._encoder.encode([text])[0]
        return made

    def vectors(self, memories: list[Memory]) -> list[Vectors]:
        """What the store keeps of memories beside themselves."""
        return vectors_of(self._encoder, memories)

    def nearest(
        self,
        pool: str,
        text: str,
        vector: NDArray[np.float32],
        k: int,
        mode: Mode,
        among: Where | None = None,
        fits: Callable[[Memory], bool] = lambda _: True,
    ) -> Recalled:
        """The k best memories of a pool that may be shown together (`memshare.memory_service.recall.select_shown`).

        `among` narrows by fields, whatever pool and status it names; `fits` by anything else, which looks at all that
        the fields leave.
        """
        base = replace(among or Where(), pool=pool, status=SHOWN)
        adapter = self._retriever.adapter(pool)
        if k == 0:
            return Recalled([], adapter.version)
        turned, words = adapter(vector), query(text) if mode == "hybrid" else None
        shown: list[Hit] = []
        seen: list[Hit] = []
        # Where there are no others, one submitter may fill the places that are left.
        for each in (max(1, int(k * self._share)), k):
            where, limit = base, SPARE * k
            shown = choose([*shown, *seen], k, each)
            while len(shown) < k:
                hits = self.store.search(where, limit, dense=turned, sparse=words)
                hits, found = [hit for hit in hits if fits(hit.memory)], len(hits)
                ranked = self._ranking.ranked(self.store, pool, text, hits) if self._ranking and hits else hits
                seen += ranked
                shown = choose([*shown, *ranked], k, each)
                if found < limit:
                    break
                full, no_newcomer = used_up(shown, each)
                narrower = replace(base, status="active" if no_newcomer else SHOWN, submitter_not=full)
                where, limit = narrower, SPARE * (limit if narrower == where else k)
            if not where.submitter_not:
                break  # nobody was left out, so all there is has been seen
        return Recalled(choose([*shown, *seen], k, k), adapter.version)

    def candidates(self, memory: Memory, vector: NDArray[np.float32]) -> list[Hit]:
        """What the retriever could have found for a memory's prompt, with vectors: the best by words and by cosine.

        Up to `CANDIDATES` of each, never the memory itself.
        """
        where = Where(pool=memory.pool, status=SHOWN)
        turned = self._retriever.adapter(memory.pool)(vector)
        found: dict[UUID, Hit] = {}
        for words, meaning in ((query(memory.key), None), (None, turned)):
            hits = self.store.search(where, CANDIDATES + 1, dense=meaning, sparse=words, with_vectors=True)
            others = [hit for hit in hits if hit.memory.id != memory.id][:CANDIDATES]
            found |= {hit.memory.id: hit for hit in others}
        return list(found.values())


def vectors_of(encoder: Encoder, memories: Sequence[Memory]) -> list[Vectors]:
    """The key's dense vector, and BM25 of prompt and answer."""
    dense = encoder.encode([memory.key for memory in memories])
    return [Vectors(row, sparse_of(memory)) for row, memory in zip(dense, memories, strict=True)]


def sparse_of(memory: Memory) -> Sparse:
    return document(f"{memory.prompt or ''}\n{memory.answer}")
