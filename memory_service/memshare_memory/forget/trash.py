"""The trash: forgotten memories, kept in Redis for 30 days, so that a person's slip can be undone."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from uuid import UUID

import redis

from memshare_broker.delivery.packed_json import pack, unpack
from memshare_memory.forget.answers import ForgottenMemory

KEEP_DAYS = 30
KEEP_SECONDS = KEEP_DAYS * 86_400

INDEX = "memshare:trash"
"""Sorted set: id of a forgotten memory → when it goes for good. Redis itself lets each go at that time."""
_ITEM = "memshare:trash:memory:"
_AT_ONCE = 500


class Trash:
    """The trash of one Redis."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    def put(self, items: Sequence[ForgottenMemory]) -> None:
        """Keep memories; one that is there already is kept as it is now."""
        for start in range(0, len(items), _AT_ONCE):
            with self._client.pipeline() as change:
                for item in items[start : start + _AT_ONCE]:
                    change.set(f"{_ITEM}{item.memory.id}", pack(item.model_dump_json()), exat=int(item.until))
                    change.zadd(INDEX, {str(item.memory.id): item.until})
                change.execute()

    def ids(self, prefix: str = "") -> list[UUID]:
        """The forgotten memories whose id begins with a prefix, the last one forgotten first."""
        self._client.zremrangebyscore(INDEX, 0, time.time())
        found = map(str, self._client.zrange(INDEX, 0, -1, desc=True))
        return [UUID(one) for one in found if one.startswith(prefix)]

    def read(self, ids: Sequence[UUID]) -> Iterator[ForgottenMemory]:
        """Forgotten memories by their ids, in their order; those that the trash does not have are left out."""
        for start in range(0, len(ids), _AT_ONCE):
            keys = [f"{_ITEM}{one}" for one in ids[start : start + _AT_ONCE]]
            for kept in self._client.execute_command("MGET", *keys, NEVER_DECODE=True):  # type: ignore[no-untyped-call]
                if kept is not None:
                    yield ForgottenMemory.model_validate(unpack(kept))

    def every(self) -> Iterator[ForgottenMemory]:
        """All forgotten memories, the last one forgotten first."""
        return self.read(self.ids())

    def drop(self, ids: Iterable[UUID]) -> None:
        """Let memories go for good."""
        names = [str(one) for one in ids]
        for start in range(0, len(names), _AT_ONCE):
            some = names[start : start + _AT_ONCE]
            with self._client.pipeline() as change:
                change.delete(*(f"{_ITEM}{one}" for one in some))
                change.zrem(INDEX, *some)
                change.execute()
