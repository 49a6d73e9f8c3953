"""People's decisions on the concepts of a pool: which are one, which are not, and which gaps are none."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import redis
from pydantic import Field

from memshare_broker.wire.messages import Message
from memshare_concepts import names
from memshare_concepts.names import key
from memshare_memory.people import DISMISSED, MERGES


class Merge(Message):
    """The record of a merge: memories that have the concept `of` count as having `into`."""

    of: str
    into: str
    at: datetime
    by: str  # who merged: a person's name, or `similarity`
    similarity: float | None = Field(default=None, ge=-1, le=1)


class Aliases:
    """The merges that are in force. `key` is what a graph is given to know which names are one concept."""

    def __init__(self, merges: Iterable[Merge] = ()) -> None:
        self._merges: dict[str, Merge] = {}
        for merge in merges:
            self.add(merge)

    def add(self, merge: Merge) -> None:
        """Put a merge in force. Raises ValueError where both are one concept already, or `of` is merged already."""
        of, into = names.key(merge.of), self.key(merge.into)
        if of == into:
            raise ValueError(f"{merge.of!r} and {merge.into!r} are one concept already: there is nothing to merge.")
        if of in self._merges:
            raise ValueError(f"{merge.of!r} is merged into {self._merges[of].into!r} already: split them first.")
        self._merges[of] = merge

    def undo(self, of: str) -> Merge:
        """Take a merge back and return it. Raises ValueError for a concept that was not merged."""
        if names.key(of) not in self._merges:
            raise ValueError(f"{of!r} was not merged into another concept: there is nothing to split.")
        return self._merges.pop(names.key(of))

    def is_merged(self, name: str) -> bool:
        """True if a name was merged into another concept."""
        return names.key(name) in self._merges

    def merges(self) -> tuple[Merge, ...]:
        """The merges in force, in the order in which they were made."""
        return tuple(self._merges.values())

    def key(self, name: str) -> str:
        """The key of the concept that a name means, merges followed to the end."""
        found = names.key(name)
        while found in self._merges:
            found = names.key(self._merges[found].into)
        return found


class Dismissed(Message):
    """The record of what a person does not want to be shown again: a gap, or two names as perhaps one concept."""

    names: tuple[str, ...]
    at: datetime
    by: str


class Decisions:
    """The decisions on the concepts of one pool, kept in Redis."""

    def __init__(self, client: redis.Redis, pool: str) -> None:
        self._client = client
        self._merges, self._dismissed = MERGES + pool, DISMISSED + pool

    def aliases(self) -> Aliases:
        return _aliases(self._client.lrange(self._merges, 0, -1))

    def merge(self, merge: Merge) -> None:
        """Put a merge in force. Raises ValueError as `Aliases.add` does, and then nothing has changed."""

        def change(pipe: redis.client.Pipeline) -> None:
            _aliases(pipe.lrange(self._merges, 0, -1)).add(merge)
            pipe.multi()
            pipe.rpush(self._merges, merge.model_dump_json())

        self._client.transaction(change, self._merges)
        self.bring_back(similar_id(merge.of, merge.into))

    def split(self, of: str) -> Merge:
        """Take a merge back and return it. Raises ValueError for a concept that was not merged."""

        undone: list[Merge] = []

        def change(pipe: redis.client.Pipeline) -> None:
            lines = pipe.lrange(self._merges, 0, -1)
            undone[:] = [_aliases(lines).undo(of)]
            pipe.multi()
            for line in lines:
                if Merge.model_validate_json(line) == undone[0]:
                    pipe.lrem(self._merges, 1, str(line))

        self._client.transaction(change, self._merges)
        return undone[0]

    def dismissed(self) -> dict[str, Dismissed]:
        """The dismissals, by the ids of gaps and of similar names."""
        found = self._client.hgetall(self._dismissed)
        return {str(pair): Dismissed.model_validate_json(text) for pair, text in found.items()}

    def dismiss(self, gap_id: str, names: Iterable[str], at: datetime, by: str) -> None:
        """Dismiss a gap for good; `names` are what it is about."""
        self._dismiss(gap_id, Dismissed(names=tuple(names), at=at, by=by))

    def keep_apart(self, name: str, other: str, at: datetime, by: str) -> None:
        """Say that two names are two concepts, however similar they are."""
        self._dismiss(similar_id(name, other), Dismissed(names=(name, other), at=at, by=by))

    def bring_back(self, dismissed_id: str) -> bool:
        """Take a dismissal back; False for what was not dismissed."""
        return bool(self._client.hdel(self._dismissed, dismissed_id))

    def _dismiss(self, dismissed_id: str, record: Dismissed) -> None:
        self._client.hset(self._dismissed, dismissed_id, record.model_dump_json())


def similar_id(name: str, other: str) -> str:
    """The id by which two similar names are dismissed, whichever comes first."""
    return ":".join(["similar", *sorted(map(key, (name, other)))])


def _aliases(lines: Iterable[str | bytes]) -> Aliases:
    return Aliases(Merge.model_validate_json(line) for line in lines)
