"""Recall: the memories of a pool that are nearest to a task.

A prompt is encoded without what it is about, too, so that prompts that ask the same of other things are near each
other: quoted strings, names and numbers are replaced before that, after DAIL-SQL (arXiv 2308.15363).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from itertools import pairwise
from typing import NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memshare_broker.wire.messages import Embedding, asked
from memshare_memory.encoders.encoder import Encoder
from memshare_memory.encoders.shared_batches import shared
from memshare_memory.memory import Memory, Mode
from memshare_memory.recall.adapter import Adapter
from memshare_memory.recall.credibility_ranking import CredibilityRanking, FoundFor
from memshare_memory.recall.retriever import Retriever
from memshare_memory.recall.search_steps import Ranked, RecallQuery, Search, search_steps, worth_a_look
from memshare_memory.recall.writers import PEOPLE, Reading, Writers
from memshare_memory.stores.bm25 import document, query
from memshare_memory.stores.points import RRF_K
from memshare_memory.stores.store import Hit, Query, Sparse, Store, Vectors, Where

MASK = "<mask>"
LONGEST = 2_000  # characters; a longer text is about too much to be asked again of something else

_QUOTED = re.compile(r"\"[^\"\n]*\"|“[^”\n]*”|„[^“”\n]*[“”]|«[^»\n]*»|(?<!\w)'[^'\n]*'(?!\w)|(?<!\w)‘[^’\n]*’(?!\w)")
_NUMBER = re.compile(r"(?<![A-Za-z_0-9])\d[\d.,:/-]*(?<![.,:/-])")
_WORD = re.compile(r"[^\W\d_][\w’'-]*")
_SELF = re.compile(r"I(?:[’'].*)?|mask")
_ENDS = ".?!:\n"  # of a sentence; the word after it has a capital whatever it is
_SEVERAL = re.compile(rf"{MASK}(?:\s+{MASK})+")


def masked(text: str) -> str:
    """The text with `<mask>` for each quoted string, name and number, and one for several in a row.

    A name is a word with a capital that does not begin a sentence. Of a text in capitals alone none is one.
    """
    if len(text) > LONGEST:
        return text
    text = _QUOTED.sub(MASK, text)
    words = [one for one in _WORD.finditer(text) if not _SELF.fullmatch(one[0])]
    names = [later for earlier, later in pairwise(words) if _is_name(text[earlier.end() : later.start()], later[0])]
    if len(names) + 1 < len(words) or len(words) <= 2:
        for name in reversed(names):
            text = f"{text[: name.start()]}{MASK}{text[name.end() :]}"
    return _SEVERAL.sub(MASK, _NUMBER.sub(MASK, text))


def _is_name(between: str, word: str) -> bool:
    return word[0].isupper() and not any(sign in between for sign in _ENDS)


CANDIDATES = 20  # of a lesson (INMS, arXiv 2404.09982) …
BY_WORDS = 4  # … of which so many are found by words
AT_HAND = 10_000  # vectors of memories, some 1.5 kB each


class RankedMemories(NamedTuple):
    """Hits, best first, and the version of the retriever that found them."""

    hits: list[Hit]
    retriever_version: int


class Recall:
    """Finds memories, and makes the vectors by which they are found.

    With a `ranking`, what was found is ranked by credibility, too.
    With `writers`, by whose answers help the model that is to answer.
    Of the memories shown, at most `submitter_share` come from one submitter where there are others.
    """

    def __init__(
        self,
        store: Store,
        encoder: Encoder,
        retriever: Retriever,
        ranking: CredibilityRanking | None = None,
        submitter_share: float = 1,
        writers: Writers | None = None,
    ) -> None:
        self.store = store
        self._ranking = ranking
        self._share = submitter_share
        self._writers = writers
        self._encoder = shared(encoder)
        self._retriever = retriever
        self._at_hand: dict[str, NDArray[np.float32]] = {}  # (2, dimension)
        self._praised: dict[UUID, NDArray[np.float32]] = {}

    @property
    def encoder_name(self) -> str:
        """Name of the encoder, which stands beside every vector of this store."""
        return self._encoder.name

    def begin(self, text: str, asked_by: str, *, masking: bool = False) -> Future[NDArray[np.float32]]:
        """The vector of a task, of shape (1, dimension), when the turn of who asks has come.

        With `masking` that of the masked text comes second, where there is anything to mask.
        """
        return self._encoder.begin(_texts(text) if masking else [asked(text)], asked_by)

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

    def masked(self, vector: NDArray[np.float32], text: str) -> NDArray[np.float32]:
        """The vector of the masked text; that of the text itself where there is nothing to mask."""
        return vector if len(texts := _texts(text)) == 1 else np.asarray(self._encoder.encode(texts[1:])[0])

    def vectors(self, memories: list[Memory]) -> list[Vectors]:
        """Vectors of memories, which the store keeps beside them."""
        return vectors_of(self._encoder, memories)

    def nearest(
        self, pool: str, text: str, vector: NDArray[np.float32], k: int, mode: Mode = "dense"
    ) -> RankedMemories:
        """The k best memories of a pool that may be shown together (`memshare_memory.recall.search_steps`)."""
        return self.nearest_each([RecallQuery(pool, text, vector, k, mode)])[0]

    def nearest_each(self, wanted: Sequence[RecallQuery]) -> list[RankedMemories]:
        """The same for several tasks at once: they share each look at the store and at Redis."""
        adapters = self._retriever.adapters({one.pool for one in wanted})
        worths = self._worths(wanted)
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
            found = self._learnt(
                [wanted[place] for place in places],
                [adapters[wanted[place].pool] for place in places],
                [worths[place] for place in places],
                self.store.search(queries),
            )
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
        adapters: Sequence[Adapter],
        worths: Sequence[Mapping[str, float]],
        found: Sequence[list[Hit]],
    ) -> list[list[Hit]]:
        """Hits of each search, ranked by s; in hybrid mode by s and by the engine's rank, with equal weight."""
        by_s = [
            adapter.version > 0 or one.masked is not None or bool(worth)
            for one, adapter, worth in zip(wanted, adapters, worths, strict=True)
        ]
        rows = self._rows_of([hit for hits, is_so in zip(found, by_s, strict=True) if is_so for hit in hits])
        proven = self._proven(adapters, found)
        ranked = []
        for one, adapter, worth, hits, is_so in zip(wanted, adapters, worths, found, by_s, strict=True):
            marked = [hit._replace(proven=proven(adapter, hit.memory)) for hit in hits]
            if is_so:
                marked = by_learner(adapter, one, [hit for hit in marked if hit.memory.id in rows], rows, worth)
                if one.mode == "hybrid":
                    marked = fused([hit.memory.id for hit in hits], marked)
            ranked.append(marked)
        return ranked

    def _proven(self, adapters: Sequence[Adapter], found: Sequence[list[Hit]]) -> Callable[[Adapter, Memory], bool]:
        """Says of a memory that was found whether it is proven; the vectors that it takes are fetched for all."""
        asked, near = [], set[UUID]()
        for adapter, hits in zip(adapters, found, strict=True):
            known = adapter.proven_submitters or {}
            some = [hit for hit in hits if hit.memory.task_id is not None and known.get(hit.memory.submitter)]
            near.update(*(known[hit.memory.submitter] for hit in some))
            asked += some
        own = self._rows_of(asked)
        praised = {one: rows[0] for one, rows in self._praised_rows(near).items()}
        nothing = np.zeros(1, np.float32)

        def proven(adapter: Adapter, memory: Memory) -> bool:
            rows = own.get(memory.id)
            return adapter.proven(memory, nothing if rows is None else rows[0], praised if rows is not None else {})

        return proven

    def _praised_rows(self, ids: Collection[UUID]) -> dict[UUID, NDArray[np.float32]]:
        """Vectors by id, as `_rows_of` has them; who is proven by what changes rarely."""
        if missing := [one for one in ids if one not in self._praised]:
            if len(self._praised) > AT_HAND:
                self._praised.clear()
            self._praised.update(self.store.both_of(missing))
        return {one: self._praised[one] for one in ids if one in self._praised}

    def _worths(self, wanted: Sequence[RecallQuery]) -> list[Mapping[str, float]]:
        """Worth of writers to the reader, for each query."""
        readings = [Reading(one.pool, one.reader) if one.reader else None for one in wanted]
        asked = {one for one in readings if one is not None}
        known = self._writers.worths(asked) if self._writers and asked else {}
        return [known.get(one, {}) if one else {} for one in readings]

    def _rows_of(self, hits: Sequence[Hit]) -> dict[UUID, NDArray[np.float32]]:
        """The vectors of memories by their ids, of texts and of masked texts, of shape (2, dimension).

        They follow from the text alone, by which they are kept at hand.
        """
        known = {hit.memory.id: self._at_hand.get(hit.memory.key) for hit in hits}
        missing = [one for one, vector in known.items() if vector is None]
        fetched = self.store.both_of(missing) if missing else {}
        if len(self._at_hand) > AT_HAND:
            self._at_hand.clear()
        self._at_hand.update({hit.memory.key: fetched[hit.memory.id] for hit in hits if hit.memory.id in fetched})
        return {one: rows for one, rows in (known | fetched).items() if rows is not None}

    def _cosine(self, one: Hit, other: Hit) -> float:
        """Cosine of two prompts; 1 where a memory has gone meanwhile."""
        rows = list(self._rows_of([one, other]).values())
        return float(rows[0][0] @ rows[-1][0]) if rows else 1.0

    def _ranked(self, wanted: Sequence[RecallQuery], hits: Sequence[list[Hit]]) -> list[list[Hit]]:
        if self._ranking is None:
            return list(hits)
        tasks = [FoundFor(one.pool, one.text, some) for one, some in zip(wanted, hits, strict=True)]
        return self._ranking.ranked(self.store, tasks)

    def candidates(self, memory: Memory, vector: NDArray[np.float32]) -> list[Hit]:
        """Hits that the retriever could have found for a memory's prompt, with vectors: the nearest, and some by words.

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
        rows = self._rows_of(list(found.values()))
        return [hit._replace(vector=rows[one][0] if one in rows else None) for one, hit in found.items()]


def by_learner(
    adapter: Adapter,
    wanted: RecallQuery,
    hits: Sequence[Hit],
    rows: Mapping[UUID, NDArray[np.float32]],
    worths: Mapping[str, float],
) -> list[Hit]:
    """The hits, best first by s(q, m) and what the writer is worth to the reader, which becomes their score.

    Each has rows of shape (2, dimension): the text and the masked text, whose scores count the same.
    """
    if not hits:
        return []
    texts, masked = np.stack([rows[hit.memory.id] for hit in hits], axis=1)
    submitters = [hit.memory.submitter for hit in hits]
    scores = adapter.scores(wanted.vector, texts, submitters)
    if wanted.masked is not None or (masked != texts).any():
        hidden = wanted.vector if wanted.masked is None else wanted.masked
        queries = np.stack([wanted.vector if hit.memory.is_statement else hidden for hit in hits])  # these have no mask
        scores = np.stack([scores, adapter.scores(queries, masked, submitters)]).mean(axis=0)
    scores = scores + np.array([worths.get(hit.memory.model or PEOPLE, 0.0) for hit in hits], np.float32)
    similarity = texts @ wanted.vector
    order = np.argsort(-scores, kind="stable")
    return [hits[place]._replace(score=float(scores[place]), similarity=float(similarity[place])) for place in order]


def fused(found: Sequence[UUID], learnt: Sequence[Hit]) -> list[Hit]:
    """Hits in two orders as one, by reciprocal rank: that of the search, and that of the learner."""
    first = {one: rank for rank, one in enumerate(found)}
    scores = {hit.memory.id: 1 / (RRF_K + first[hit.memory.id]) + 1 / (RRF_K + rank) for rank, hit in enumerate(learnt)}
    return sorted((hit._replace(score=scores[hit.memory.id]) for hit in learnt), key=lambda hit: -hit.score)


def vectors_of(encoder: Encoder, memories: Sequence[Memory]) -> list[Vectors]:
    """The key's dense vector, BM25 of prompt and answer, and the dense vector of a pair's masked prompt."""
    hidden = {
        place: text for place, one in enumerate(memories) for text in _texts(one.asked)[1:] if not one.is_statement
    }
    dense = encoder.encode([*(memory.asked for memory in memories), *hidden.values()])
    masked = dict(zip(hidden, dense[len(memories) :], strict=True))
    return [
        Vectors(row, sparse_of(memory), masked.get(place, row))
        for place, (row, memory) in enumerate(zip(dense, memories, strict=False))
    ]


def _texts(text: str) -> list[str]:
    """Texts to encode for a text: the text, and the masked text if it differs."""
    text = asked(text)
    return list(dict.fromkeys((text, masked(text))))


def sparse_of(memory: Memory) -> Sparse:
    return document(f"{memory.prompt or ''}\n{memory.answer}")
