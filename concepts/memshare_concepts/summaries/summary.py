"""A summary of a cluster, and how much of the cluster has changed since it was made."""

from __future__ import annotations

from collections.abc import Collection
from hashlib import blake2b
from uuid import UUID

import redis

from memshare_broker.wire.forms import Moment
from memshare_broker.wire.messages import Message
from memshare_memory.forget.reviews import SUMMARIES, SUMMARIZED

SAME = 0.5
"""Share of memories in common from which on it is the same cluster: its number changes with the pool."""
MOST = 200
"""Of a pool; the oldest go first."""

STALE = 0.2
"""Share of a cluster's memories that may be new or gone before its summary is stale."""


class Sentence(Message):
    """A sentence, and the memories that it rests on."""

    text: str
    cites: tuple[UUID, ...]


class ClusterSummary(Message):
    """What the memories of a cluster say, as a model wrote it."""

    sentences: tuple[Sentence, ...]
    read: tuple[UUID, ...]
    """The memories that the model was shown."""
    members: tuple[UUID, ...]
    """All memories that the cluster had."""
    model: str
    made: Moment

    @property
    def id(self) -> str:
        """Derived from the members: another summary of the same cluster takes the place of the one before."""
        return blake2b(b"".join(sorted(one.bytes for one in self.members)), digest_size=8).hexdigest()

    def changed(self, members: Collection[UUID]) -> int:
        """How many memories of a cluster are new, or gone, since then."""
        return len(set(self.members).symmetric_difference(members))

    def is_stale(self, members: Collection[UUID]) -> bool:
        """Whether too much of a cluster has changed since then."""
        return self.changed(members) >= STALE * len(self.members)

    def in_common(self, members: Collection[UUID]) -> float:
        """The memories that both clusters have, as a share of all that one of them has (Jaccard)."""
        own = set(self.members)
        return len(own.intersection(members)) / len(own.union(members))


class Summaries:
    """The summaries of one pool. They go with every memory that they were written from."""

    def __init__(self, client: redis.Redis, pool: str) -> None:
        self._client = client
        self._pool = pool
        self._key = SUMMARIES + pool

    def all(self) -> list[ClusterSummary]:
        """Those that are kept, the newest first."""
        found = [ClusterSummary.model_validate_json(text) for text in self._client.hvals(self._key)]
        return sorted(found, key=lambda one: (-one.made, one.id))

    def of(self, members: Collection[UUID]) -> ClusterSummary | None:
        """The summary of the cluster that has most in common with these memories, if that is enough."""
        best = max(self.all(), key=lambda one: one.in_common(members), default=None)
        return best if best is not None and best.in_common(members) >= SAME else None

    def keep(self, summary: ClusterSummary) -> None:
        """Keep a summary."""
        with self._client.pipeline() as change:
            change.sadd(SUMMARIZED, self._pool)
            change.hset(self._key, summary.id, summary.model_dump_json())
            change.execute()
        for old in self.all()[MOST:]:
            self.drop(old)

    def drop(self, summary: ClusterSummary) -> None:
        """Take a summary out."""
        self._client.hdel(self._key, summary.id)
