"""The retriever of a pool: the adapter by which memories are ranked, and the version of it that is in use.

s(q, m) = cos(Aq, Am) + worth of m's submitter,   A = I + W of the pool

The trainer learns by the same s: `ranking_score`.
"""

from __future__ import annotations

import base64
import hashlib
import logging
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
import redis
from numpy.typing import NDArray
from pydantic import Field, ValidationError
from safetensors.numpy import load, save

from memshare_broker.wire.messages import Message
from memshare_broker.wire.spaces import owner_of
from memshare_memory.belief.trust import (
    TRUST_NUMBER,
    Standings,
    retriever_key,
    standings_key,
    standings_number_key,
    trusted,
)

if TYPE_CHECKING:
    from memshare_memory.encoders.encoder import Encoder
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
        cls, version: int, encoder: str, weights: Array, worth: Mapping[str, float] | None = None, **known: Any
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
        return any(float(vector @ near[name]) >= NEAR for name in praised if name in near)


def _products(some: Array, others: Array) -> Array:
    """Dot products of rows."""
    return np.asarray(np.einsum("...d,...d->...", some, others))


log = logging.getLogger(__name__)


def version_key(pool: str, encoder: str) -> str:
    """Holds the number of the version that is in use."""
    return retriever_key(pool, encoder, "version")


def adapter_key(pool: str, encoder: str, version: int) -> str:
    """Holds a version's `PublishedAdapter` as JSON."""
    return retriever_key(pool, encoder, str(version))


class Retriever:
    """The adapter of each pool, in the version that is in use. A recall asks Redis for their numbers."""

    def __init__(self, client: redis.Redis, encoder: Encoder, *, learns: bool = True) -> None:
        """Without anybody who `learns`, all submitters count as proven."""
        self._client = client
        self._learns = learns
        self._encoder = encoder
        self._lock = threading.Lock()
        self._loaded: dict[str, Adapter] = {}
        self._refused: set[tuple[str, int]] = set()
        self._proven: dict[str, tuple[int, Mapping[str, tuple[UUID, ...]]]] = {}
        self._trusted: tuple[int, dict[str, frozenset[str]]] = (0, {})

    def adapter(self, pool: str) -> Adapter:
        """The adapter of one pool; see `adapters`."""
        return self.adapters([pool])[pool]

    def adapters(self, pools: Collection[str]) -> dict[str, Adapter]:
        """The adapters in use, by pool; when a new version cannot be used, the one from before it."""
        names, encoder = list(pools), self._encoder.name
        keys = [key(pool, encoder) for pool in names for key in (version_key, standings_number_key)]
        trust, *numbers = (int(text or 0) for text in self._client.mget([TRUST_NUMBER, *keys]))
        of_pools = zip(names, numbers[::2], numbers[1::2], strict=True)
        return {
            pool: replace(self._adapter(pool, version), proven_submitters=self._proven_in(pool, standings, trust))
            for pool, version, standings in of_pools
        }

    def _proven_in(self, pool: str, number: int, trust: int) -> Mapping[str, tuple[UUID, ...]] | None:
        """The proven submitters of the pool's standings with this number, and those that people trust.

        In a space of one's own nobody has to prove themselves.
        """
        if not self._learns or owner_of(pool):
            return None
        if self._trusted[0] != trust:
            self._trusted = trust, trusted(self._client)
        if pool not in self._proven or self._proven[pool][0] != number:
            text = self._client.get(standings_key(pool, self._encoder.name))
            self._proven[pool] = number, _proven(pool, text)
        return {**self._proven[pool][1], **dict.fromkeys(self._trusted[1].get(pool, ()), ())}

    def _adapter(self, pool: str, version: int) -> Adapter:
        if self._is_settled(pool, version):
            return self._current(pool)
        with self._lock:
            if not self._is_settled(pool, version):  # of threads that meet a new version, one loads it
                self._load(pool, version)
            return self._current(pool)

    def _current(self, pool: str) -> Adapter:
        return self._loaded.get(pool, Adapter())

    def _is_settled(self, pool: str, version: int) -> bool:
        return version == self._current(pool).version or (pool, version) in self._refused

    def _load(self, pool: str, version: int) -> None:
        try:
            self._loaded[pool] = self._fetch(pool, version) if version else Adapter()
            log.info("Uses retriever version %d of pool %s.", version, pool)
        except ValueError as error:
            self._refused.add((pool, version))
            told = "Keeps retriever version %d of pool %s: version %d is refused, %s."
            log.error(told, self._current(pool).version, pool, version, error)

    def _fetch(self, pool: str, version: int) -> Adapter:
        text = self._client.get(adapter_key(pool, self._encoder.name, version))
        if text is None:
            raise ValueError("it is not there")
        try:
            published = PublishedAdapter.model_validate_json(text)
        except ValidationError as error:
            raise ValueError(f"it is no adapter ({error.error_count()} fields are missing or wrong)") from error
        if published.encoder != self._encoder.name or published.dimension != self._encoder.dimension:
            raise ValueError(f"it was made for the encoder {published.encoder!r} and not {self._encoder.name!r}")
        return published.adapter()


def _proven(pool: str, text: str | bytes | None) -> dict[str, tuple[UUID, ...]]:
    try:
        return Standings.model_validate_json(text).proven if text else {}
    except ValidationError as error:
        log.error("Nobody counts as proven in pool %s: %d errors in its standings.", pool, error.error_count())
        return {}
