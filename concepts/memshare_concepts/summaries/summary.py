"""A summary of a cluster, and how much of the cluster has changed since it was made."""

from __future__ import annotations

from collections.abc import Collection
from hashlib import blake2b
from uuid import UUID

from memshare_broker.wire.forms import Moment
from memshare_broker.wire.messages import Message

STALE = 0.2
"""Share of a cluster's memories that may be new or gone before its summary is stale."""


class Sentence(Message):
    """A sentence, and the memories that it rests on."""

    text: str
    cites: tuple[UUID, ...]


class Summary(Message):
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
