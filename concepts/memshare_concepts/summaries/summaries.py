"""The summaries of a pool's clusters, kept in Redis and found again by the memories of a cluster."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

import redis

from memshare_concepts.summaries.summary import Summary
from memshare_memory.forget.reviews import SUMMARIES, SUMMARIZED

SAME = 0.5
"""Share of memories in common from which on it is the same cluster: its number changes with the pool."""

MOST = 200
"""Of a pool; the oldest go first."""


class Summaries:
    """The summaries of one pool. They go with every memory that they were written from."""

    def __init__(self, client: redis.Redis, pool: str) -> None:
        self._client = client
        self._pool = pool
        self._key = SUMMARIES + pool

    def all(self) -> list[Summary]:
        """Those that are kept, the newest first."""
        found = [Summary.model_validate_json(text) for text in self._client.hvals(self._key)]
        return sorted(found, key=lambda one: (-one.made, one.id))

    def of(self, members: Collection[UUID]) -> Summary | None:
        """The summary of the cluster that has most in common with these memories, if that is enough."""
        best = max(self.all(), key=lambda one: one.in_common(members), default=None)
        return best if best is not None and best.in_common(members) >= SAME else None

    def keep(self, summary: Summary) -> None:
        """Keep a summary."""
        with self._client.pipeline() as change:
            change.sadd(SUMMARIZED, self._pool)
            change.hset(self._key, summary.id, summary.model_dump_json())
            change.execute()
        for old in self.all()[MOST:]:
            self.drop(old)

    def drop(self, summary: Summary) -> None:
        """Take a summary out."""
        self._client.hdel(self._key, summary.id)
