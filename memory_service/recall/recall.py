"""Recall: the memories of a pool that are nearest to a task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memshare.broker.wire.conversation import asked
from memshare.broker.wire.messages import Embedding
from memshare.memory_service.encoders.encoder import Encoder
from memshare.memory_service.memory import SHOWN, Memory, Mode
from memshare.memory_service.recall.credibility_ranking import CredibilityRanking, FoundFor
from memshare.memory_service.recall.feedback import HITS, Besides, Way, fed_back
from memshare.memory_service.recall.retriever import Retriever
from memshare.memory_service.recall.search_steps import Ranked, Search, Wanted, search_steps
from memshare.memory_service.stores.bm25 import document, query
from memshare.memory_service.stores.store import Hit, Query, Sparse, Store, Vectors, Where

CANDIDATES = 10  # of each ranking (INMS, arXiv 2404.09982)


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
        return Embedding.pack(self._encoder.name, self._encoder.encode([asked(text)])[0])

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of some tasks, of shape (len(texts), dimension)."""
        return self._encoder.encode([asked(text) for text in texts])

    def vector(self, embedding: Embedding | None, text: str) -> NDArray[np.float32]:
        """The vector that came with a message; made here when none did, or another encoder made it."""
        if embedding is not None and embedding.encoder == self._encoder.name:
            return embedding.unpack()
        made: NDArray[np.float32] = self._encoder.encode([asked(text)])[0]
        return made

    def vectors(self, memories: list[Memory]) -> list[Vectors]:
        """What the store keeps of memories beside themselves."""
        return vectors_of(self._encoder, memories)

    def nearest(self, pool: str, text: str, vector: NDArray[np.float32], k: int, mode: Mode = "dense") -> Recalled:
        """The k best memories of a pool that may be shown together (`memshare.memory_service.recall.select_shown`)."""
        return self.nearest_each([Wanted(pool, text, vector, k, mode)])[0]

    def nearest_each(self, wanted: Sequence[Wanted]) -> list[Recalled]:
        """The same for several tasks at once: they share each look at the store and at Redis."""
        adapters = self._retriever.adapters({one.pool for one in wanted})
        turned = [adapters[one.pool](one.vector) for one in wanted]
        besides = self._besides(wanted, turned, [adapters[one.pool].feedback for one in wanted])
        steps = [search_steps(one, self._share) for one in wanted]
        chosen: dict[int, list[Hit]] = {}
        asked: dict[int, Search] = {}

        def go_on(place: int, found: Ranked | None) -> None:
            try:
                asked[place] = steps[place].send(found)
            except StopIteration as end:
                asked.pop(place, None)
                chosen[place] = end.value

        for place in range(len(wanted)):
            go_on(place, None)
        while asked:
            places = list(asked)
            queries = [Query(*asked[place], turned[place], *besides[place]) for place in places]
            hits = self.store.search_batch(queries)
            ranked = self._ranked([wanted[place] for place in places], hits)
            for place, some, best in zip(places, hits, ranked, strict=True):
                able = [hit for hit in best if not wanted[place].is_twin(hit.memory)]
                go_on(place, Ranked(able, is_all=len(some) < asked[place].limit))
        return [Recalled(chosen[place], adapters[one.pool].version) for place, one in enumerate(wanted)]

    def _besides(
        self, wanted: Sequence[Wanted], turned: Sequence[NDArray[np.float32]], in_use: Sequence[Way]
    ) -> list[Besides]:
        """What each search looks for beside the meaning of its task. Feedback takes one search more."""
        found = [Besides(query(one.text)) if one.mode == "hybrid" else Besides() for one in wanted]
        ways = {
            place: one.feedback or in_use[place]
            for place, one in enumerate(wanted)
            if one.mode == "dense" and one.k and (one.feedback or in_use[place]) != "off"
        }
        if not ways:
            return found
        firsts = [Query(wanted[place].where, HITS, turned[place], query(wanted[place].text)) for place in ways]
        # What may not be shown has no say either.
        able = self._ranked([wanted[place] for place in ways], self.store.search_batch(firsts))
        for (place, way), hits in zip(ways.items(), able, strict=True):
            memories = [hit.memory for hit in hits if not wanted[place].is_twin(hit.memory)]
            found[place] = fed_back(way, memories, sparse_of)
        return found

    def _ranked(self, wanted: Sequence[Wanted], hits: Sequence[list[Hit]]) -> list[list[Hit]]:
        if self._ranking is None:
            return list(hits)
        tasks = [
            FoundFor(one.pool, one.text, some, one.model, one.kind) for one, some in zip(wanted, hits, strict=True)
        ]
        return self._ranking.ranked(self.store, tasks)

    def candidates(self, memory: Memory, vector: NDArray[np.float32]) -> list[Hit]:
        """What the retriever could have found for a memory's prompt, with vectors: the best by words and by cosine.

        Up to `CANDIDATES` of each, never the memory itself. Their vectors are fetched by id, which costs the engine a
        hundredth of what they cost in a search.
        """
        where = Where(pool=memory.pool, status=SHOWN)
        turned = self._retriever.adapter(memory.pool)(vector)
        found: dict[UUID, Hit] = {}
        most = CANDIDATES + 1
        by_words = Query(where, most, sparse=query(memory.key))
        by_meaning = Query(where, most, dense=turned)
        for hits in self.store.search_batch([by_words, by_meaning]):
            others = [hit for hit in hits if hit.memory.id != memory.id][:CANDIDATES]
            found |= {hit.memory.id: hit for hit in others}
        vectors = self.store.dense_of(list(found))
        return [hit._replace(vector=vectors.get(one)) for one, hit in found.items()]


def vectors_of(encoder: Encoder, memories: Sequence[Memory]) -> list[Vectors]:
    """The key's dense vector, and BM25 of prompt and answer."""
    dense = encoder.encode([memory.asked for memory in memories])
    return [Vectors(row, sparse_of(memory)) for row, memory in zip(dense, memories, strict=True)]


def sparse_of(memory: Memory) -> Sparse:
    return document(f"{memory.prompt or ''}\n{memory.answer}")
