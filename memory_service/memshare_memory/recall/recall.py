"""Recall: the memories of a pool that are nearest to a task.

A prompt is encoded without what it is about, too, so that prompts that ask the same of other things are near each
other: quoted strings, names and numbers are replaced before that, after DAIL-SQL (arXiv 2308.15363).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import Future
from itertools import islice, pairwise

import numpy as np
from numpy.typing import NDArray

from memshare_broker.wire.messages import Embedding, asked
from memshare_memory.belief.credibility_ranking import CredibilityRanking
from memshare_memory.belief.writers import Reading, Writers
from memshare_memory.encoders.encoder import Encoder
from memshare_memory.encoders.shared_batches import shared
from memshare_memory.memory import Credibility, Memory, Mode
from memshare_memory.recall.batch import BatchedRecall, RecallBatch, VectorsAtHand
from memshare_memory.recall.query import RecallRequest
from memshare_memory.recall.retriever import Retriever
from memshare_memory.stores.bm25 import Sparse, document, query
from memshare_memory.stores.store import Hit, Query, Store, Vectors, Where

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
    words = [word for word in _WORD.finditer(text) if not _SELF.fullmatch(word[0])]
    names = [later for earlier, later in pairwise(words) if _is_name(text[earlier.end() : later.start()], later[0])]
    if len(names) + 1 < len(words) or len(words) <= 2:
        for name in reversed(names):
            text = f"{text[: name.start()]}{MASK}{text[name.end() :]}"
    return _SEVERAL.sub(MASK, _NUMBER.sub(MASK, text))


def _is_name(between: str, word: str) -> bool:
    return word[0].isupper() and not any(sign in between for sign in _ENDS)


CANDIDATES = 20  # of a lesson (INMS, arXiv 2404.09982) …
BY_WORDS = 10  # … of which so many have most words of its answer: what is made alike is often asked in other words


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
        self._at_hand = VectorsAtHand(store)

    @property
    def encoder_name(self) -> str:
        """Name of the encoder, which stands beside every vector of this store."""
        return self._encoder.name

    def begin(self, text: str | None, asked_by: str, *, masking: bool = False) -> Future[NDArray[np.float32]]:
        """The vector of a task, of shape (1, dimension), when the turn of who asks has come; none of None.

        With `masking` that of the masked text comes second, where there is anything to mask.
        """
        texts = [] if text is None else _texts(text) if masking else [asked(text)]
        return self._encoder.begin(texts, asked_by)

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

    def rewrite(self, memories: Sequence[Memory]) -> None:
        """Write memories that say what they said before, as far as they are still there, with the vectors they have."""
        vectors = self.store.dense_of([memory.id for memory in memories]) if memories else {}
        self.store.put(
            [(memory, Vectors(vectors[memory.id], sparse_of(memory))) for memory in memories if memory.id in vectors],
            in_place=True,
        )

    def nearest(self, pool: str, text: str, vector: NDArray[np.float32], k: int, mode: Mode = "dense") -> BatchedRecall:
        """The k best memories of a pool that may be shown together (`memshare_memory.recall.batch`)."""
        return self.nearest_each([(RecallRequest(pool=pool, text=text, k=k, mode=mode), vector[np.newaxis])])[0]

    def nearest_each(self, asked: Sequence[tuple[RecallRequest, NDArray[np.float32]]]) -> list[BatchedRecall]:
        """The same for several tasks at once, each with the vectors of its text and, if that differs, its masked text.

        These have the shape (1 or 2, dimension); where no memory is wanted none is needed. Of several pools each has
        the k best of its own, which are then ranked together.
        """
        if any(task.beside for task, _ in asked):
            return self._of_several(asked)
        adapters = self._retriever.adapters({task.pool for task, _ in asked})
        readings = {Reading(task.pool, task.reader) for task, _ in asked if task.reader}
        worths = self._writers.worths(readings) if self._writers and readings else {}
        recalls = [
            BatchedRecall(
                task, rows, adapters[task.pool], worths.get(Reading(task.pool, task.reader or ""), {}), self._share
            )
            for task, rows in asked
        ]
        RecallBatch(recalls, self.store, self._at_hand, self._ranking).answer()
        return recalls

    def _of_several(self, asked: Sequence[tuple[RecallRequest, NDArray[np.float32]]]) -> list[BatchedRecall]:
        each = [
            (task.model_copy(update={"pool": pool, "beside": ()}), rows)
            for task, rows in asked
            for pool in dict.fromkeys((task.pool, *task.beside))
        ]
        found, recalls = iter(self.nearest_each(each)), []
        for task, _ in asked:
            first, *others = islice(found, len({task.pool, *task.beside}))
            first.join(others, self._at_hand.cosine)
            recalls.append(first)
        return recalls

    def credibilities(self, hits: Sequence[Hit]) -> Sequence[Credibility | None]:
        """How credible memories are that were recalled; None where nothing is ranked by it."""
        return self._ranking.of_hits(hits) if self._ranking else [None] * len(hits)

    def is_unproven(self, memory: Memory) -> bool:
        """True if others' words speak for the memory's submitter nowhere in its pool."""
        known = self._retriever.adapter(memory.pool).proven_submitters
        return known is not None and memory.submitter not in known

    def candidates(self, memory: Memory, vector: NDArray[np.float32]) -> list[Hit]:
        """Hits, with vectors, that could have been found for its prompt: the nearest, and some by its answer.

        Up to `CANDIDATES`, never the memory itself. Their vectors are fetched by id, which costs the engine a hundredth
        of what they cost in a search.
        """
        where = Where(pool=memory.pool, status="active")
        adapter = self._retriever.adapter(memory.pool)
        by_words = Query(where, BY_WORDS + 1, sparse=query(memory.answer))
        by_meaning = [Query(where, CANDIDATES + 1, dense=turned) for turned in adapter.searches(vector)]
        # The memory is among those found where it is settled again.
        words, *near = (
            {hit.memory.id: hit for hit in hits if hit.memory.id != memory.id}
            for hits in self.store.search([by_words, *by_meaning])
        )
        nearest = {name: hit for hits in near for name, hit in hits.items()}
        rows = self._at_hand.of([*words.values(), *nearest.values()])
        there = [hit for name, hit in nearest.items() if name in rows]
        if there and adapter.weights is not None:
            submitters = [hit.memory.submitter for hit in there]
            scores = adapter.scores(vector, np.stack([rows[hit.memory.id][0] for hit in there]), submitters)
            there = [there[place] for place in np.argsort(-scores, kind="stable")]
        found = [*islice((hit for name, hit in words.items() if name in rows), BY_WORDS), *there]
        unique = islice({hit.memory.id: hit for hit in found}.items(), CANDIDATES)
        return [hit._replace(vector=rows[name][0]) for name, hit in unique]


def vectors_of(encoder: Encoder, memories: Sequence[Memory]) -> list[Vectors]:
    """The key's dense vector, BM25 of prompt and answer, and the dense vector of a pair's masked prompt."""
    hidden = {
        place: text
        for place, memory in enumerate(memories)
        for text in _texts(memory.asked)[1:]
        if not memory.is_statement
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
