"""Given credit: what each submitter's tasks gave to memories, so that it can be taken back with the submitter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from uuid import UUID

import redis

INDEX = "memshare:credits_by"
"""Set: whose tasks gave credit in which pools."""
_KIND = "kind "
"""With this begins a field of what tasks of a kind scored; every other one is a memory."""
_BETWEEN = "\x1f"  # stands in no name of a pool or a submitter
_AT_ONCE = 200  # Redis serves nobody else while a script runs


class GivenCredit:
    """For every pool and submitter a hash: memory → the sums that their tasks added to its arm."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._take_back = client.register_script(Path(__file__).with_name("take_back_credit.lua").read_text())

    def of(self, pool: str, memories: Sequence[UUID]) -> dict[UUID, dict[str, str]]:
        """Those of some memories that were credited, with the sums of each submitter."""
        found: dict[UUID, dict[str, str]] = {}
        for submitter in self._submitters(pool) if memories else ():
            sums = self._client.hmget(given_key(pool, submitter), [str(one) for one in memories])
            for memory, text in zip(memories, sums, strict=True):
                if text is not None:
                    found.setdefault(memory, {})[submitter] = str(text)
        return found

    def put_back(self, pool: str, memory: UUID, sums: Mapping[str, str]) -> None:
        """Note what submitters gave to a memory that is back with what it was worth."""
        for submitter, text in sums.items():
            self._client.hset(given_key(pool, submitter), str(memory), text)
            self._client.sadd(INDEX, member_of(pool, submitter))

    def drop(self, pool: str, names: Sequence[str]) -> None:
        """Forget who gave credit to some memories, by their ids."""
        for submitter in self._submitters(pool):
            self._client.hdel(given_key(pool, submitter), *names)
            self._client.hdel(last_words_key(pool, submitter), *names)
            if not self._client.exists(given_key(pool, submitter)):  # it gave nothing to what is left
                self._client.srem(INDEX, member_of(pool, submitter))

    def credited_by(self, submitter: str) -> set[UUID]:
        """The memories to which a submitter's tasks gave credit."""
        fields = (self._client.hkeys(given_key(pool, submitter)) for pool in self._pools(submitter))
        return {UUID(str(field)) for some in fields for field in some if not str(field).startswith(_KIND)}

    def others_speak(self, pool: str, submitter: str) -> bool:
        """Whether tasks of anybody else gave credit in a pool, or counted in what is usual there."""
        return any(of != submitter for of in self._submitters(pool))

    def take_back(self, submitter: str) -> int:
        """Subtract all that a submitter's tasks gave, also to what is usual; returns how many memories had it."""
        taken = 0
        for pool in self._pools(submitter):
            key = given_key(pool, submitter)
            self._client.delete(last_words_key(pool, submitter))
            keys = [arms_key(pool), key, usual_key(pool)]
            fields = [str(field) for field in self._client.hkeys(key)]
            for start in range(0, len(fields), _AT_ONCE):
                taken += int(self._take_back(keys=keys, args=fields[start : start + _AT_ONCE]))
            if not self._client.exists(key):
                self._client.srem(INDEX, member_of(pool, submitter))
        return taken

    def forget(self, submitter: str) -> None:
        """Forget a submitter's name: what their tasks gave stays, and nobody knows from whom it is."""
        for pool in self._pools(submitter):
            self._client.delete(given_key(pool, submitter), last_words_key(pool, submitter))
            self._client.srem(INDEX, member_of(pool, submitter))

    def _submitters(self, pool: str) -> Iterator[str]:
        return (of for name, of in self._index() if name == pool)

    def _pools(self, submitter: str) -> list[str]:
        return [pool for pool, of in self._index() if of == submitter]

    def _index(self) -> list[tuple[str, str]]:
        pairs = (str(member).partition(_BETWEEN) for member in self._client.smembers(INDEX))
        return sorted((pool, submitter) for pool, _, submitter in pairs)


def less(sums: str, given: str) -> str | None:
    """The sums of an arm without what somebody gave; None where that was all of its credit."""
    left = [float(one) - float(other) for one, other in zip(sums.split(), given.split(), strict=True)]
    return None if left[0] < 0.5 else " ".join(f"{number:.17g}" for number in left)


def arms_key(pool: str) -> str:
    """Hash: memory → its arm."""
    return f"memshare:credibility:{pool}"


def usual_key(pool: str) -> str:
    """Hash: kind of task → how many were graded, and the sum of their scores."""
    return f"memshare:usual_scores:{pool}"


def given_key(pool: str, submitter: str) -> str:
    return f"{INDEX}:{member_of(pool, submitter)}"


def last_words_key(pool: str, submitter: str) -> str:
    """Hash: memory → what this submitter's last word from outside added to its arm."""
    return f"memshare:last_words:{member_of(pool, submitter)}"


def member_of(pool: str, submitter: str) -> str:
    return f"{pool}{_BETWEEN}{submitter}"
