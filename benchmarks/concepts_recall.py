"""Do concepts help to find memories? Over the flashcards, with controls; `benchmarks.concepts` reports it.

A fifth of the cards asks, the others are the pool. Right are the cards that were written within three places of the
one that asks, as they are about the same thing. The control is the same feedback with words in place of concepts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.report import progress
from memshare.concepts.flashcards import Flashcard
from memshare.memory_service.stores import bm25, concept_vectors
from memshare.memory_service.stores.store import Sparse

SEEDS, FOLDS = 5, 5
WITHIN = 3  # places
FUSION = 60
FEEDBACK = 1 / np.arange(1, concept_vectors.HITS + 1)

Matrix = sparse.csr_array[np.float64]
Order = NDArray[np.intp]


class Found(NamedTuple):
    """How well one way of searching did."""

    precision_at_3: float
    recall_at_10: float


class Texts(NamedTuple):
    """All cards as vectors: rows are cards."""

    dense: NDArray[np.float32]
    words: Matrix
    asked: Matrix
    concepts: Matrix


def recall(cards: Sequence[Flashcard], vectors: NDArray[np.float32]) -> dict[str, Found]:
    """Each way of searching with its figures, over all queries of all folds."""
    words, asked = _matrices(
        [bm25.document(f"{card.prompt}\n{card.answer}") for card in cards], [bm25.query(card.prompt) for card in cards]
    )
    [concepts] = _matrices([concept_vectors.document(card.concepts.levels()) for card in cards])
    texts = Texts(vectors, words, asked, concepts)
    measured: dict[str, list[Found]] = {}
    for inside, queries in progress(list(_folds(len(cards))), "Searching"):
        pool = _Pool(texts, inside)
        for query in queries.tolist():
            right = inside[np.abs(inside - query) <= WITHIN]
            for way, order in pool.searched(query).items():
                hits = np.isin(order[:10], right)
                found = Found(hits[:3].sum() / 3, hits.sum() / max(len(right), 1))
                measured.setdefault(way, []).append(found)
    means = {way: np.mean(found, axis=0) for way, found in measured.items()}
    return {way: Found(round(float(mean[0]), 4), round(float(mean[1]), 4)) for way, mean in means.items()}


def _folds(count: int) -> Iterator[tuple[Order, Order]]:
    for seed in range(SEEDS):
        shuffled = np.random.default_rng(seed).permutation(count)
        for fold in range(FOLDS):
            queries = shuffled[fold::FOLDS]
            yield np.setdiff1d(shuffled, queries), queries


class _Pool:
    """The cards of one fold that are searched."""

    def __init__(self, texts: Texts, cards: Order) -> None:
        self._texts, self._cards = texts, cards
        self._near = texts.dense[cards]
        self._words, self._concepts = (self._weighed(kind) for kind in (texts.words, texts.concepts))

    def searched(self, query: int) -> dict[str, Order]:
        """The cards in the order in which each way of searching finds them."""
        own, words, concepts = self._texts.dense[query], self._texts.words, self._texts.concepts
        dense = self._by(self._near @ own)
        hybrid = self._fused(dense, self._by(np.asarray(self._words @ _row(self._texts.asked, query))))
        hits, near = hybrid[: len(FEEDBACK)], dense[: len(FEEDBACK)]
        said = sum(weight * _row(words, hit) for weight, hit in zip(FEEDBACK, hits, strict=True))
        named = sum(weight * (_row(concepts, hit) > 0) for weight, hit in zip(FEEDBACK, hits, strict=True))
        return {
            "dense": dense,
            "words": self._fused(dense, self._by(np.asarray(self._words @ said))),
            "concepts": self._fused(dense, self._by(np.asarray(self._concepts @ np.sqrt(named)))),
            "hybrid": hybrid,
            "rocchio": self._by(self._near @ (own + FEEDBACK @ self._texts.dense[near] / FEEDBACK.sum() / 2)),
            "own_concepts": self._by(np.asarray(self._concepts @ _row(concepts, query))),
        }

    def _by(self, scores: NDArray[np.floating]) -> Order:
        return self._cards[np.argsort(-scores, kind="stable")]

    def _fused(self, *orders: Order) -> Order:
        """By reciprocal rank."""
        scores = np.zeros(len(self._texts.dense))
        for order in orders:
            scores[order] += 1 / (FUSION + np.arange(1, len(order) + 1))
        return self._by(scores[self._cards])

    def _weighed(self, kind: Matrix) -> Matrix:
        """The cards' vectors times the IDF."""
        inside = kind[self._cards]
        frequency = np.bincount(inside.indices, minlength=kind.shape[1])
        inside.data *= np.log1p((len(self._cards) - frequency + 0.5) / (frequency + 0.5))[inside.indices]
        return inside


def _row(matrix: Matrix, row: int) -> NDArray[np.float64]:
    found = np.zeros(matrix.shape[1])
    place = slice(matrix.indptr[row], matrix.indptr[row + 1])
    found[matrix.indices[place]] = matrix.data[place]
    return found


def _matrices(*texts: Sequence[Sparse]) -> list[Matrix]:
    """Sparse vectors as matrices with common columns."""
    columns = {index: 0 for of in texts for one in of for index in one.indices}
    columns = {index: column for column, index in enumerate(columns)}
    return [
        sparse.csr_array(
            (
                [value for one in of for value in one.values],
                [columns[index] for one in of for index in one.indices],
                np.cumsum([0, *(len(one.indices) for one in of)]),
            ),
            shape=(len(of), len(columns)),
        )
        for of in texts
    ]
