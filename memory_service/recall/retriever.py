"""The retriever: the frozen encoder's vectors, turned by what the pool's adapter has learnt."""

from __future__ import annotations

import base64
import hashlib
import logging
import threading
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import redis
from numpy.typing import NDArray
from pydantic import ValidationError
from safetensors.numpy import load, save

from memshare.broker.wire.messages import Message
from memshare.memory_service.recall import feedback
from memshare.memory_service.recall.feedback import Way

if TYPE_CHECKING:
    from memshare.memory_service.encoders.encoder import Encoder

log = logging.getLogger(__name__)


class PublishedAdapter(Message):
    """A version of a pool's adapter as it lies in Redis: half-precision weights and what they were made for.

    Accuracies are pairwise on held-out lessons, of the version before it and of itself.
    """

    version: int
    encoder: str
    dimension: int
    sha256: str
    weights: str
    lessons: int = 0
    accuracy_before: float | None = None
    accuracy_after: float | None = None

    @classmethod
    def pack(
        cls,
        version: int,
        encoder: str,
        weights: NDArray[np.float32],
        *,
        lessons: int = 0,
        accuracy_before: float | None = None,
        accuracy_after: float | None = None,
    ) -> PublishedAdapter:
        """Weights of shape (dimension, dimension), with what they were learnt from and how well they rank."""
        blob = save({"weights": np.ascontiguousarray(weights, dtype=np.float16)})
        return cls(
            version=version,
            encoder=encoder,
            dimension=weights.shape[0],
            sha256=hashlib.sha256(blob).hexdigest(),
            weights=base64.b64encode(blob).decode(),
            lessons=lessons,
            accuracy_before=accuracy_before,
            accuracy_after=accuracy_after,
        )

    def unpack(self) -> NDArray[np.float32]:
        """The weights, of shape (dimension, dimension); raises `ValueError` when they were damaged."""
        blob = base64.b64decode(self.weights)
        if hashlib.sha256(blob).hexdigest() != self.sha256:
            raise ValueError("its hash does not fit")
        weights: NDArray[np.float32] = load(blob)["weights"].astype(np.float32)
        if weights.shape != (self.dimension, self.dimension):
            raise ValueError(f"its weights have the shape {weights.shape}")
        if not np.isfinite(weights).all():
            raise ValueError("its weights are not all finite numbers")
        return weights


@dataclass(frozen=True)
class Adapter:
    """A residual linear adapter of queries. Version 0 has learnt nothing and changes nothing."""

    version: int = 0
    weights: NDArray[np.float32] | None = None
    feedback: Way = "off"
    """What recalls of its pool feed back."""

    def __call__(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """normalise(q + W·q) of a query of shape (dimension,)."""
        if self.weights is None:
            return query
        turned = query + self.weights @ query
        return np.asarray(turned / np.linalg.norm(turned), dtype=np.float32)


def retriever_key(pool: str, encoder: str, what: str) -> str:
    """Where something of a pool's retriever lies; another encoder's vectors need an adapter of their own."""
    return f"memshare:retriever:{pool}:{encoder}:{what}"


def version_key(pool: str, encoder: str) -> str:
    """Holds the number of the version that is in use."""
    return retriever_key(pool, encoder, "version")


def feedback_key(pool: str, encoder: str) -> str:
    """Holds the pool's `FeedbackInUse` as JSON, where it has one."""
    return retriever_key(pool, encoder, "feedback")


def adapter_key(pool: str, encoder: str, version: int) -> str:
    """Holds a version's `PublishedAdapter` as JSON."""
    return retriever_key(pool, encoder, str(version))


class Retriever:
    """The adapter of each pool, in the version that is in use, with its feedback. Redis is asked once for a recall."""

    def __init__(self, client: redis.Redis, encoder: Encoder) -> None:
        self._client = client
        self._encoder = encoder
        self._lock = threading.Lock()
        self._loaded: dict[str, Adapter] = {}
        self._refused: set[tuple[str, int]] = set()

    def adapter(self, pool: str) -> Adapter:
        """The adapter of one pool; see `adapters`."""
        return self.adapters([pool])[pool]

    def adapters(self, pools: Collection[str]) -> dict[str, Adapter]:
        """The adapters in use, by pool; when a new version cannot be used, the one from before it."""
        names, encoder = list(pools), self._encoder.name
        keys = [key(pool, encoder) for pool in names for key in (version_key, feedback_key)]
        texts = iter(self._client.mget(keys) if keys else [])
        found = {pool: (self._adapter(pool, int(next(texts) or 0)), next(texts)) for pool in names}
        return {
            pool: replace(adapter, feedback=in_use.way) if (in_use := feedback.read(text, pool)) else adapter
            for pool, (adapter, text) in found.items()
        }

    def _adapter(self, pool: str, version: int) -> Adapter:
        current = self._loaded.get(pool, Adapter())
        if version == current.version or (pool, version) in self._refused:
            return current
        with self._lock:
            return self._load(pool, version)

    def _load(self, pool: str, version: int) -> Adapter:
        current = self._loaded.get(pool, Adapter())
        if version == current.version or (pool, version) in self._refused:
            return current
        try:
            loaded = self._fetch(pool, version) if version else Adapter()
        except ValueError as error:
            self._refused.add((pool, version))
            log.error(
                "Keeps retriever version %d of pool %s: version %d is refused, %s.",
                current.version,
                pool,
                version,
                error,
            )
            return current
        self._loaded[pool] = loaded
        log.info("Uses retriever version %d of pool %s.", version, pool)
        return loaded

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
        return Adapter(version, published.unpack())
