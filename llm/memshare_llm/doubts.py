"""How often something that a model does is doubtful: where it is that too often, it is told."""

from __future__ import annotations

from typing import NamedTuple

import redis

REMEMBERED = 100  # times; beyond them both numbers are halved
_SEPARATOR = "\x1f"


class Doubt(NamedTuple):
    """A model and what it does, how often it did, and how often that was doubtful."""

    model: str
    what: str
    times: int
    doubtful: int


class Doubts:
    """The counts of one kind, in one Redis: a hash with how often each model did what, and how often doubtfully."""

    def __init__(self, client: redis.Redis, key: str) -> None:
        self._client = client
        self._key = f"memshare:doubts:{key}"

    def note(self, model: str, what: str, *, doubtful: int, times: int = 1) -> None:
        """Count what a model did, and how often of it doubtfully."""
        field = _SEPARATOR.join((model, what))
        before, doubted = _read(self._client.hget(self._key, field))
        halved = 2 if before >= REMEMBERED else 1
        self._client.hset(self._key, field, f"{before // halved + times} {doubted // halved + doubtful}")

    def forget(self, model: str, what: str) -> None:
        """Count anew."""
        self._client.hdel(self._key, _SEPARATOR.join((model, what)))

    def found(self, fewest: int, share: float) -> list[Doubt]:
        """Work that models did at least `fewest` times, doubtful for at least this share, 0 to 1, of the times."""
        every = []
        for field, text in sorted((str(field), text) for field, text in self._client.hgetall(self._key).items()):
            model, what = field.split(_SEPARATOR)
            every.append(Doubt(model, what, *_read(text)))
        return [one for one in every if one.times >= fewest and one.doubtful >= share * one.times]


def _read(text: bytes | str | None) -> tuple[int, int]:
    times, doubtful = str(text or "0 0").split()
    return int(times), int(doubtful)
