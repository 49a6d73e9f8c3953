"""Recall: the memories of a pool that are nearest to a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memshare_broker.wire.conversation import asked
from memshare_broker.wire.messages import Embedding
from memshare_memory.encoders.encoder import Encoder
from memshare_memory.encoders.shared_batches import shared
from memshare_memory.memory import Memory, Mode
from memshare_memory.recall.adapter import Adapter
from memshare_memory.recall.credibility_ranking import CredibilityRanking, FoundFor
from memshare_memory.recall.retriever import Retriever
from memshare_memory.recall.search_steps import Ranked, RecallQuery, Search, search_steps, worth_a_look
from memshare_memory.stores.bm25 import document, query
from memshare_memory.stores.points import RRF_K
from memshare_memory.stores.store import Hit, Query, Sparse, Store, Vectors, Where

CANDIDATES = 20  # of a lesson (INMS, arXiv 2404.09982) …
BY_WORDS = 4  # … of which so many are found by words
AT_HAND = 10_000  # vectors of memories, some 1.5 kB each


class RankedMemories(NamedTuple):
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
        self._encoder = shared(encoder)
        self._retriever = retriever
        self._at_hand: dict[str, NDArray[np.float32]] = {}

    @property
    def encoder_name(self) -> str:
        """What stands beside every vector of this store."""
        return self._encoder.name

    def begin(self, text: str, asked_by: str) -> Future[NDArray[np.float32]]:
        """The vector of a task, of shape (1, dimension), when the turn of who asks has come."""
        return self._encoder.begin([asked(text)], asked_by)

    def retriever_version(self, pool: str) -> int:
        """The version of a pool's retriever that is in use."""
        return self._retriever.adapter(pool).version

    def embed(self, text: str) -> Embedding:
        """The vector of a text, ready to travel with a message, so that it is made once a journey."""
        return Embedding.pack(self._encoder.name, self.encode([text])[0])

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of some tasks, of shape (len(texts), dimension)."""
        return self._encoder.encode([asked(text) for text in texts])

    def vector(self, embedding: Embedding | None, text: str) -> NDArray[np.float32]:
        """The vector that came with a message; made here when none did, or another encoder made it."""
        if embedding is not None and embedding.encoder == self._encoder.name:
            return embedding.unpack()
        return np.asarray(self.encode([text])[0])

    def vectors(self, memories: list[Memory]) -> list[Vectors]:
        """What the store keeps of memories beside themselves."""
        return vectors_of(self._encoder, memories)

    def nearest(
        self, pool: str, text: str, vector: NDArray[np.float32], k: int, mode: Mode = "dense"
    ) -> RankedMemories:
        """The k best memories of a pool that may be shown together (`memshare_memory.recall.search_steps`)."""
        return self.nearest_each([RecallQuery(pool, text, vector, k, mode)])[0]

    def nearest_each(self, wanted: Sequence[RecallQuery]) -> list[RankedMemories]:
        """The same for several tasks at once: they share each look at the store and at Redis."""
        adapters = self._retriever.adapters({one.pool for one in wanted})
        turned = [adapters[one.pool](one.vector) for one in wanted]
        words = [query(one.text) if one.mode == "hybrid" else None for one in wanted]
        steps = [search_steps(one, self._share, self._cosine) for one in wanted]
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
            queries = [Query(asked[place].where, asked[place].limit, turned[place], words[place]) for place in places]
            found = self._learnt(wanted, places, adapters, self.store.search(queries))
            hits = [
                worth_a_look(some, wanted[place].k) if asked[place].is_first else some
                for place, some in zip(places, found, strict=True)
            ]
            ranked = self._ranked([wanted[place] for place in places], hits)
            for place, all_found, some, best in zip(places, found, hits, ranked, strict=True):
                able = [hit for hit in best if not wanted[place].is_twin(hit.memory)]
                go_on(place, Ranked(able, is_all=len(some) == len(all_found) < asked[place].limit))
        return [RankedMemories(chosen[place], adapters[one.pool].version) for place, one in enumerate(wanted)]

    def _learnt(
        self,
        wanted: Sequence[RecallQuery],
        places: Sequence[int],
        adapters: Mapping[str, Adapter],
        found: Sequence[list[Hit]],
    ) -> list[list[Hit]]:
        """What each search found, ranked by s; in hybrid mode by s and by the engine's rank, both alike."""
        learnt = [adapters[wanted[place].pool].version > 0 for place in places]
        vectors = self._vectors_of([hit for hits, by_s in zip(found, learnt, strict=True) if by_s for hit in hits])
        ranked = []
        for place, hits, by_s in zip(places, found, learnt, strict=True):
            one, adapter = wanted[place], adapters[wanted[place].pool]
            marked = [hit._replace(proven=adapter.proven(hit.memory)) for hit in hits]
            if by_s:
                marked = by_learner(adapter, one.vector, [hit for hit in marked if hit.memory.id in vectors], vectors)
                if one.mode == "hybrid":
                    marked = fused([hit.memory.id for hit in hits], marked)
            ranked.append(marked)
        return ranked

    def _vectors_of(self, hits: Sequence[Hit]) -> dict[UUID, NDArray[np.float32]]:
        """The vectors of memories by their ids. One follows from the text alone, by which it is kept at hand."""
        known = {hit.memory.id: self._at_hand.get(hit.memory.key) for hit in hits}
        missing = [one for one, vector in known.items() if vector is None]
        fetched = self.store.dense_of(missing) if missing else {}
        if len(self._at_hand) > AT_HAND:
            self._at_hand.clear()
        self._at_hand.update({hit.memory.key: fetched[hit.memory.id] for hit in hits if hit.memory.id in fetched})
        return {one: vector for one, vector in (known | fetched).items() if vector is not None}

    def _cosine(self, one: Hit, other: Hit) -> float:
        """That of two prompts; 1 where a memory has gone meanwhile."""
        vectors = list(self._vectors_of([one, other]).values())
        return float(vectors[0] @ vectors[-1]) if vectors else 1.0

    def _ranked(self, wanted: Sequence[RecallQuery], hits: Sequence[list[Hit]]) -> list[list[Hit]]:
        if self._ranking is None:
            return list(hits)
        tasks = [FoundFor(one.pool, one.text, some) for one, some in zip(wanted, hits, strict=True)]
        return self._ranking.ranked(self.store, tasks)

    def candidates(self, memory: Memory, vector: NDArray[np.float32]) -> list[Hit]:
        """What the retriever could have found for a memory's prompt, with vectors: the nearest, and some by words.

        Up to `CANDIDATES`, never the memory itself. Their vectors are fetched by id, which costs the engine a hundredth
        of what they cost in a search.
        """
        where = Where(pool=memory.pool, status="active")
        turned = self._retriever.adapter(memory.pool)(vector)
        by_words = Query(where, BY_WORDS + 1, sparse=query(memory.key))
        by_meaning = Query(where, CANDIDATES + 1, dense=turned)
        # The memory is among those found where it is settled again.
        words, nearest = (
            [hit for hit in hits if hit.memory.id != memory.id] for hits in self.store.search([by_words, by_meaning])
        )
        found: dict[UUID, Hit] = {}
        for hit in (*words[:BY_WORDS], *nearest):
            if len(found) < CANDIDATES:
                found.setdefault(hit.memory.id, hit)
        vectors = self._vectors_of(list(found.values()))
        return [hit._replace(vector=vectors.get(one)) for one, hit in found.items()]


def by_learner(
    adapter: Adapter, query: NDArray[np.float32], hits: Sequence[Hit], vectors: Mapping[UUID, NDArray[np.float32]]
) -> list[Hit]:
    """The hits, best first by s(q, m), which becomes their score; each has a vector of shape (dimension,)."""
    if not hits:
        return []
    rows = np.stack([vectors[hit.memory.id] for hit in hits])
    scores = adapter.scores(query, rows, [hit.memory.submitter for hit in hits])
    order = np.argsort(-scores, kind="stable")
    return [hits[place]._replace(score=float(scores[place]), similarity=float(rows[place] @ query)) for place in order]


def fused(found: Sequence[UUID], learnt: Sequence[Hit]) -> list[Hit]:
    """Hits in two orders as one, by reciprocal rank: that of the search, and that of the learner."""
    first = {one: rank for rank, one in enumerate(found)}
    scores = {hit.memory.id: 1 / (RRF_K + first[hit.memory.id]) + 1 / (RRF_K + rank) for rank, hit in enumerate(learnt)}
    return sorted((hit._replace(score=scores[hit.memory.id]) for hit in learnt), key=lambda hit: -hit.score)


def vectors_of(encoder: Encoder, memories: Sequence[Memory]) -> list[Vectors]:
    """The key's dense vector, and BM25 of prompt and answer."""
    dense = encoder.encode([memory.asked for memory in memories])
    return [Vectors(row, sparse_of(memory)) for row, memory in zip(dense, memories, strict=True)]


def sparse_of(memory: Memory) -> Sparse:
    return document(f"{memory.prompt or ''}\n{memory.answer}")
