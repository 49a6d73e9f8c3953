"""The adapter of a pool, by which memories are ranked: the encoder's vectors turned, and whose they are worth.

s(q, m) = cos(Aq, Am) + worth of m's submitter,   A = I + W of the pool

The trainer learns by the same s: `ranking_score`.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from safetensors.numpy import load, save

from memshare_broker.wire.messages import Message

if TYPE_CHECKING:
    from memshare_memory.memory import Memory

Array = NDArray[np.float32]

NEAR = 0.25
"""Cosine from which on what proves somebody for one memory proves them for another: with the bundled encoder nine of
ten memories of one set of tasks are so near to one of 32 others of it, and three of ten of another set."""


AT_HAND = 10_000  # memories of which vectors, some 3 kB each, and what follows from them are kept


def ranking_score(cosines: Any, worths: Any) -> Any:
    """s of memories, from cos(Aq, Am) and what their submitters are worth: of arrays, or of tensors with gradients."""
    return cosines + worths


class PublishedAdapter(Message):
    """A version of a pool's adapter as it lies in Redis: half-precision weights and what they were made for.

    `worth` is by submitter, in the unit of a cosine; who is not in it is worth 0. Accuracies are on what was held out
    (`memshare_broker.wire.lessons.Lesson`), of the version before it and of itself.
    """

    version: int
    encoder: str
    dimension: int
    sha256: str
    weights: str
    worth: dict[str, float] = Field(default={})
    lessons: int = 0
    accuracy_before: float | None = None
    accuracy_after: float | None = None

    @classmethod
    def pack(
        cls,
        version: int,
        encoder: str,
        weights: Array,
        worth: Mapping[str, float] | None = None,
        **known: Any,
    ) -> PublishedAdapter:
        """Weights of shape (dimension, dimension), with what is `known` of them beside."""
        blob = save({"weights": np.ascontiguousarray(weights, dtype=np.float16)})
        return cls(
            version=version,
            encoder=encoder,
            dimension=weights.shape[0],
            sha256=hashlib.sha256(blob).hexdigest(),
            weights=base64.b64encode(blob).decode(),
            worth=dict(worth or {}),
            **known,
        )

    def adapter(self) -> Adapter:
        """The adapter, ready for use; raises `ValueError` when the weights were damaged."""
        return Adapter.of(self.version, self.unpack(), self.worth)

    def unpack(self) -> Array:
        """The weights, of shape (dimension, dimension); raises `ValueError` when they were damaged."""
        blob = base64.b64decode(self.weights)
        if hashlib.sha256(blob).hexdigest() != self.sha256:
            raise ValueError("its hash does not fit")
        weights: Array = load(blob)["weights"].astype(np.float32)
        if weights.shape != (self.dimension, self.dimension):
            raise ValueError(f"its weights have the shape {weights.shape}")
        if not np.isfinite(weights).all():
            raise ValueError("its weights are not all finite numbers")
        return weights


@dataclass(frozen=True)
class Adapter:
    """A residual linear adapter A = I + W of questions and memories, and what submitters are worth.

    Version 0 has learnt nothing: it ranks by the cosine alone.
    """

    version: int = 0
    weights: Array | None = None
    """W, of shape (dimension, dimension)."""
    search: Array | None = None
    """AᵀA, of the same shape: the stored vectors stay as they are, so that the question is turned twice."""
    worth: Mapping[str, float] = field(default_factory=dict)
    proven_submitters: Mapping[str, Sequence[UUID]] | None = field(default_factory=dict)
    """Submitters for whom others' words speak, each with the memories near which they do; none named means everywhere.
    None where nobody learns, and so nobody could prove anything."""
    known_lengths: dict[str, list[float]] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, version: int, weights: Array, worth: Mapping[str, float]) -> Adapter:
        """An adapter with W as its weights, in the half precision in which it is published."""
        weights = weights.astype(np.float16).astype(np.float32)
        whole = np.eye(len(weights), dtype=np.float32) + weights
        return cls(version, weights, whole.T @ whole, worth)

    def matrix(self, dimension: int) -> Array:
        """W, also of an adapter that has learnt nothing."""
        return np.zeros((dimension, dimension), np.float32) if self.weights is None else self.weights

    def __call__(self, query: Array) -> Array:
        """normalise(AᵀAq), by which the store is searched for a question q of shape (dimension,)."""
        turned = self._turned(query)
        return query if turned is query else np.asarray(turned / np.linalg.norm(turned), dtype=np.float32)

    def searches(self, query: Array) -> list[Array]:
        """Vectors by which to search for a question q: normalise(AᵀAq), and where that is another vector q itself.

        A store compares with m, and not with m / |Am|, for m stays as it is stored: what A makes long is found before
        what is near.
        """
        return [query] if self.search is None else [self(query), query]

    def scores(self, query: Array, memories: Array, submitters: Sequence[str], lengths: Array | None = None) -> Array:
        """s(q, m) of n memories, of shape (n, dimension), for a question of shape (dimension,), or one for each.

        `lengths` are the |Am|, where they are known. As Aq·Am = AᵀAq·m, no memory has to be turned then.
        """
        own = np.array([self.worth.get(name, 0.0) for name in submitters], dtype=np.float32)
        turned = self._turned(query)
        lengths = (self._lengths(memories) if lengths is None else lengths) * np.sqrt(_products(query, turned))
        return np.asarray(ranking_score(_products(memories, turned) / lengths, own))

    def lengths(self, texts: Sequence[str], rows: Array) -> Array:
        """|Am| of the vectors of n texts, of shape (n, 2, dimension); those of texts ranked lately are known."""
        if self.weights is None:
            return self._lengths(rows)
        known = self.known_lengths
        if len(known) > AT_HAND:
            known.clear()
        if missing := [place for place, text in enumerate(texts) if text not in known]:
            made = self._lengths(rows[missing].reshape(-1, rows.shape[-1])).reshape(-1, 2).tolist()
            known.update(zip([texts[place] for place in missing], made, strict=True))
        return np.array([known[text] for text in texts], dtype=np.float32)

    def _turned(self, query: Array) -> Array:
        """AᵀAq of questions, of shape (…, dimension)."""
        if self.search is None:
            return query
        # Threads of a BLAS product stay busy for a while after it, which is too dear for one question.
        return query @ self.search if query.ndim > 1 else np.asarray(np.einsum("ed,d->e", self.search, query))

    def _lengths(self, memories: Array) -> Array:
        turned = memories if self.weights is None else memories + memories @ self.weights.T
        return np.asarray(np.sqrt(_products(turned, turned)))

    def proven(self, memory: Memory, vector: Array | None, near: Mapping[UUID, Array]) -> bool:
        """True if a person brought a memory in, or others' words speak for its submitter in the pool.

        These speak for what is near a memory that was found good: `near` has the vectors of those, and the memory's own
        is `vector`, each of shape (dimension,), or None where it has gone.
        """
        known = self.proven_submitters
        if known is None or memory.task_id is None:
            return True
        if memory.submitter not in known:
            return False
        praised = known[memory.submitter]
        if not praised or vector is None:
            return not praised
        return any(float(vector @ near[one]) >= NEAR for one in praised if one in near)


def _products(some: Array, others: Array) -> Array:
    """Dot products of rows."""
    return np.asarray(np.einsum("...d,...d->...", some, others))
