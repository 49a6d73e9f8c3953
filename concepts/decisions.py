"""What people decided on the concepts of a pool: which were merged, and which gaps are none. Kept in Redis."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import redis

from memshare.broker.wire.messages import Message
from memshare.concepts.aliases import Aliases, Merge
from memshare.concepts.gaps.gap import Gap
from memshare.memory_service.curate.concept_decisions import dismissed_key, merges_key


class Dismissed(Message):
    """The record of a gap that a person does not want to see again."""

    names: tuple[str, ...]
    at: datetime
    by: str


class Decisions:
    """The decisions on the concepts of one pool."""

    def __init__(self, client: redis.Redis, pool: str) -> None:
        self._client = client
        self._merges, self._dismissed = merges_key(pool), dismissed_key(pool)

    def aliases(self) -> Aliases:
        """The merges that are in force."""
        return _aliases(self._client.lrange(self._merges, 0, -1))

    def merge(self, merge: Merge) -> None:
        """Put a merge in force. Raises ValueError as `Aliases.add` does, and then nothing has changed."""

        def change(pipe: redis.client.Pipeline) -> None:
            _aliases(pipe.lrange(self._merges, 0, -1)).add(merge)
            pipe.multi()
            pipe.rpush(self._merges, merge.model_dump_json())

        self._client.transaction(change, self._merges)

    def split(self, of: str) -> Merge:
        """Take a merge back and return it. Raises ValueError for a concept that was not merged."""

        undone: list[Merge] = []

        def change(pipe: redis.client.Pipeline) -> None:
            undone[:] = [_aliases(pipe.lrange(self._merges, 0, -1)).undo(of)]
            pipe.multi()
            pipe.lrem(self._merges, 1, undone[0].model_dump_json())

        self._client.transaction(change, self._merges)
        return undone[0]

    def dismissed(self) -> dict[str, Dismissed]:
        """The gaps that were dismissed, by their ids."""
        found = self._client.hgetall(self._dismissed)
        return {str(one): Dismissed.model_validate_json(text) for one, text in found.items()}

    def dismiss(self, gap: Gap, at: datetime, by: str) -> None:
        """Dismiss a gap for good."""
        self._client.hset(self._dismissed, gap.id, Dismissed(names=gap.names, at=at, by=by).model_dump_json())

    def bring_back(self, gap_id: str) -> bool:
        """Take a dismissal back; False for a gap that was not dismissed."""
        return bool(self._client.hdel(self._dismissed, gap_id))


def _aliases(lines: Iterable[str | bytes]) -> Aliases:
    return Aliases(Merge.model_validate_json(line) for line in lines)
