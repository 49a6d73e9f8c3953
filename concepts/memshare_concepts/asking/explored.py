"""What was asked to fill gaps of a pool, so that no gap is paid for twice and a day has its limit. Kept in Redis."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import redis

from memshare_broker.wire.forms import Moment
from memshare_broker.wire.messages import Message
from memshare_concepts.gap import Gap
from memshare_llm.limits.usage import day_of

MOST = 5_000
"""Of a pool; the oldest go first, and their gaps may be asked about again."""

_KEY = "memshare:concepts:explored:"


class Explored(Message):
    """One gap that was asked about."""

    gap: str
    """A digest of its id, which has names of concepts: these may have to be forgotten, and that it was asked not."""
    at: Moment

    @classmethod
    def of(cls, gap: Gap, at: float) -> Explored:
        """The record of a gap."""
        return cls(gap=blake2b(gap.id.encode(), digest_size=8).hexdigest(), at=at)


class ExploredGaps:
    """All of one pool."""

    def __init__(self, client: redis.Redis, pool: str) -> None:
        self._client = client
        self._key = _KEY + pool

    def all(self) -> list[Explored]:
        """What was asked, the newest first."""
        return [Explored.model_validate_json(text) for text in self._client.lrange(self._key, 0, -1)]

    def not_asked(self, gaps: Iterable[Gap]) -> list[Gap]:
        """Those of some gaps that were not asked about."""
        known = {one.gap for one in self.all()}
        return [gap for gap in gaps if Explored.of(gap, 0).gap not in known]

    def asked_on_day_of(self, now: float) -> int:
        """How many were asked about on the same UTC day."""
        return sum(day_of(one.at) == day_of(now) for one in self.all())

    def add(self, one: Explored) -> None:
        """Note that a gap was asked about."""
        self._client.lpush(self._key, one.model_dump_json())
        self._client.ltrim(self._key, 0, MOST - 1)
