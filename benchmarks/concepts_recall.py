"""Which memories are found for a question, by its text and by its concepts: `python -m benchmarks.concepts --recall`.

Each flashcard in turn is the question, with the pool of all others. Right are those that were written directly before
and after it: their author learnt one thing with them. A question's concepts are those that the model named for its
card, when it had read the answer, too (`named`), or of these the ones that stand in the question (`mentioned`): what a
model names for a bare question lies between.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from benchmarks.report import progress
from memshare_broker.wire.lessons import Concepts
from memshare_concepts.answering import BY_CONCEPTS
from memshare_concepts.concept_graph import ConceptGraph
from memshare_concepts.flashcards import flashcard_memories
from memshare_concepts.names import key
from memshare_concepts.pool_graph import levels_of
from memshare_memory.encoders.encoder import Encoder
from memshare_memory.memory import Memory
from memshare_memory.recall.recall import sparse_of
from memshare_memory.stores.bm25 import query as words_of
from memshare_memory.stores.edge_store import EdgeStore
from memshare_memory.stores.store import Layout, Vectors, Where, search_one

PLACES = 8  # as `memshare answer` has
LAST = PLACES - PLACES // BY_CONCEPTS  # from here on it looks at concepts
WEIGHT = 0.5  # of the similarity of concepts beside the cosine, as for clusters
ROUNDS = 4_000  # of the bootstrap
FIGURES = ("at 3", "at 8", "mrr")
BESIDE = (("names", "text"), ("vector", "text"), ("vector", "names"), ("both", "cosine"))
"""Ways that are compared: by the text alone, its meaning and its words; with names of subjects in the last places, as
`answer` does; with the vectors of concepts there, of the same candidates; by the cosine alone; with the similarity of
concepts added to it in all places."""

Found = dict[str, list[UUID]]
"""Way → the memories, the best first."""


def found_by_concepts(encoder: Encoder) -> dict[str, dict[str, float | str]]:
    """Shares of the right memories among the first 3 and 8, and MRR: of each way, then of differences with intervals.

    An interval is that of 95 % of a paired bootstrap over the questions.
    """
    memories = flashcard_memories("flashcards")
    vectors = np.asarray(encoder.encode([one.asked for one in memories]))
    figures: dict[str, dict[str, float | str]] = {}
    with tempfile.TemporaryDirectory(prefix="memshare-bench-") as folder:
        store = EdgeStore.open(Path(folder), Layout(encoder.name, vectors.shape[1]), "benchmark")
        store.put([(one, Vectors(row, sparse_of(one))) for one, row in zip(memories, vectors, strict=True)])
        for concepts in ("named", "mentioned"):
            found = [*_found(store, encoder, memories, vectors, concepts)]
            scores = {way: _scores([one[way] for one in found], [one.id for one in memories]) for way in found[0]}
            for way, row in scores.items():
                figures[f"{concepts}, {way}"] = dict(zip(FIGURES, row.mean(0).round(4).tolist(), strict=True))
            for way, other in BESIDE:
                by = scores[way] - scores[other]
                drawn = np.random.default_rng(1).integers(0, len(by), (ROUNDS, len(by)))
                ends = np.percentile(by[drawn].mean(1), [2.5, 97.5], axis=0)
                told = [
                    f"{mean:+.3f} ({low:+.3f} to {high:+.3f})"
                    for mean, low, high in zip(by.mean(0), *ends, strict=True)
                ]
                figures[f"{concepts}, {way} over {other}"] = dict(zip(FIGURES, told, strict=True))
        store.close()
    return figures


def _found(
    store: EdgeStore, encoder: Encoder, memories: Sequence[Memory], vectors: NDArray[np.float32], named: str
) -> Iterator[Found]:
    graph = ConceptGraph({one.id: levels_of(one) for one in memories})
    subjects = {one.id: _subjects(one.concepts) for one in memories}
    ids = [one.id for one in memories]
    for place, one in enumerate(progress(memories, f"Questions, concepts {named}")):
        concepts = one.concepts if named == "named" else _mentioned(one)
        by_text = _search(store, [one.id], vectors[place], one.asked)
        first, last = by_text[:LAST], by_text[LAST:PLACES]
        text = ", ".join(name for level in ("0", "-1") for name in concepts.get(level, ()))
        seen = [one.id, *first, *last]
        last += _search(store, seen, encoder.encode([text])[0], text)[:PLACES] if text else []
        graph.forget(one.id)
        asked = graph.vector_of(name for names in concepts.values() for name in names)
        roots = np.sqrt([asked.get(name, 0.0) for name in graph.concepts()])
        others = [other for other in ids if other != one.id]
        alike = dict(zip(others, map(float, graph.matrix(others) @ roots), strict=True))
        graph.add(one.id, levels_of(one))
        cosine = dict(zip(ids, (vectors @ vectors[place]).tolist(), strict=True))
        wanted = _subjects(concepts)
        yield {
            "text": by_text[:PLACES],
            "names": [*first, *sorted(last, key=lambda other: -len(wanted & subjects[other]))][:PLACES],
            "vector": [*first, *sorted(last, key=lambda other: -alike[other])][:PLACES],
            "cosine": sorted(others, key=lambda other: -cosine[other])[:PLACES],
            "both": sorted(others, key=lambda other: -cosine[other] - WEIGHT * alike[other])[:PLACES],
        }


def _search(store: EdgeStore, without: Sequence[UUID], vector: NDArray[np.float32], text: str) -> list[UUID]:
    """The memories nearest by meaning and by words, as `answer` recalls them."""
    where = Where(ids_not=without)
    return [hit.memory.id for hit in search_one(store, where, 2 * PLACES, dense=vector, sparse=words_of(text))]


def _mentioned(memory: Memory) -> Concepts:
    said = _words(memory.asked)
    return {level: tuple(name for name in names if _words(name) in said) for level, names in memory.concepts.items()}


def _words(text: str) -> str:
    return " ".join(["", *re.findall(r"\w+", text.casefold()), ""])


def _subjects(concepts: Concepts) -> set[str]:
    return {key(name) for level in ("-1", "0") for name in concepts.get(level, ())}


def _scores(found: Sequence[list[UUID]], ids: Sequence[UUID]) -> NDArray[np.float64]:
    """Of shape (questions, 3)."""
    rows = []
    for place, places in enumerate(found):
        right = [places.index(one) if one in places else PLACES for one in ids[max(place - 1, 0) : place + 2]]
        del right[min(place, 1)]  # the question's own
        first = min(right)
        rows.append((np.mean(np.less(right, 3)), np.mean(np.less(right, PLACES)), first < PLACES and 1 / (1 + first)))
    return np.array(rows, np.float64)
