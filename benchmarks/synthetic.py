"""Memories made up for measuring: as long, as alike and as full as real ones, and the same at every run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memshare_broker.wire.grades import CriterionScore
from memshare_memory.memory import Memory, memory_id

DIMENSION = 384
POOLS = ("poem", "logic", "plan", "reasoning")

_TOPICS = 400  # each belongs to one pool
_ALIKE = 0.5  # cosine of two memories of a topic, as of neighbours that MiniLM finds among 600 real prompts
_WORDS = 20_000
_TOPIC_WORDS = 40
_ON_TOPIC = 0.4  # share of a text's words
_PROMPT_WORDS, _ANSWER_WORDS = 16, 76  # some 600 characters
_CRITERIA = ("quality", "authenticity", "clarity", "originality", "value", "form", "imagery", "wit", "depth")

# Variance falls along the axes as it does in MiniLM's vectors of real prompts: an effective dimension of some 80.
_SPREAD = np.sqrt(np.arange(1, DIMENSION + 1) ** -0.5 * np.exp(-np.arange(1, DIMENSION + 1) / 100))


class Query(NamedTuple):
    """A task that looks for memories."""

    pool: str
    text: str
    vector: NDArray[np.float32]


class Synthetic:
    """A world of topics from which memories and queries are drawn, one after another."""

    def __init__(self, seed: int = 0, answer_words: int = _ANSWER_WORDS) -> None:
        self._answer_words = answer_words
        self._rng = np.random.default_rng(seed)
        lengths = self._rng.integers(2, 10, _WORDS)
        letters = self._rng.choice(list("etaoinshrdlucmfwygpb"), (_WORDS, 9))
        self._words = np.array(["".join(row[:length]) for row, length in zip(letters, lengths, strict=True)])
        frequency = 1 / np.arange(1, _WORDS + 1)  # Zipf's law: a few words are in nearly every text
        self._cumulated = np.cumsum(frequency / frequency.sum())
        self._topic_words = self._rng.integers(200, _WORDS, (_TOPICS, _TOPIC_WORDS))
        self._centres = self._directions(_TOPICS)

    def memories(self, count: int) -> list[tuple[Memory, NDArray[np.float32]]]:
        """The next memories, with their dense vectors."""
        topics = self._rng.integers(0, _TOPICS, count)
        vectors = self._near(topics)
        prompts, answers = self._texts(topics, _PROMPT_WORDS), self._texts(topics, self._answer_words)
        scores = self._rng.uniform(81, 100, count).round(1)
        return [
            (self._memory(POOLS[topic % len(POOLS)], prompt, answer, float(score)), vector)
            for topic, prompt, answer, score, vector in zip(topics, prompts, answers, scores, vectors, strict=True)
        ]

    def queries(self, count: int) -> list[Query]:
        """The next tasks, on topics of which there are memories."""
        topics = self._rng.integers(0, _TOPICS, count)
        texts, vectors = self._texts(topics, _PROMPT_WORDS), self._near(topics)
        pools = [POOLS[topic % len(POOLS)] for topic in topics]
        return [Query(*one) for one in zip(pools, texts, vectors, strict=True)]

    def adapter_weights(self) -> NDArray[np.float32]:
        """Weights that turn a query by some degrees, as those of a trained adapter do."""
        return self._rng.normal(0, 0.2 / np.sqrt(DIMENSION), (DIMENSION, DIMENSION)).astype(np.float32)

    def _memory(self, pool: str, prompt: str, answer: str, score: float) -> Memory:
        identity = memory_id(pool, prompt, answer)
        return Memory(
            id=identity,
            pool=pool,
            prompt=prompt,
            answer=answer,
            agent=pool,
            kind=pool,
            model="synthetic",
            score=score,
            criteria={name: CriterionScore(low=7, high=9, points=10) for name in _CRITERIA},
            rubric_version="0" * 12,
            task_id=str(identity),
            parents=tuple(memory_id(pool, prompt, str(parent)) for parent in range(3)),
            created=1_750_000_000.0,
        )

    def _texts(self, topics: NDArray[np.int64], length: int) -> list[str]:
        shape = (len(topics), length)
        common = np.searchsorted(self._cumulated, self._rng.random(shape))
        special = self._topic_words[topics[:, None], self._rng.integers(0, _TOPIC_WORDS, shape)]
        chosen = np.where(self._rng.random(shape) < _ON_TOPIC, special, common)
        return [" ".join(row) for row in self._words[np.minimum(chosen, _WORDS - 1)]]

    def _near(self, topics: NDArray[np.int64]) -> NDArray[np.float32]:
        mixed = np.sqrt(_ALIKE) * self._centres[topics] + np.sqrt(1 - _ALIKE) * self._directions(len(topics))
        return _unit(mixed)

    def _directions(self, count: int) -> NDArray[np.float32]:
        return _unit(self._rng.normal(size=(count, DIMENSION)) * _SPREAD)


def _unit(rows: NDArray[np.floating]) -> NDArray[np.float32]:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)
