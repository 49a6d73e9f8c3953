"""The retriever: the adapter of each pool in the version that is in use, and where it lies in Redis."""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID

import redis
from pydantic import ValidationError

from memshare_memory.belief.trust import (
    TRUST_NUMBER,
    Standings,
    retriever_key,
    standings_key,
    standings_number_key,
    trusted,
)
from memshare_memory.recall.adapter import Adapter, PublishedAdapter

if TYPE_CHECKING:
    from memshare_memory.encoders.encoder import Encoder

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
        """The proven submitters of the pool's standings with this number, and those that people trust."""
        if not self._learns:
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
