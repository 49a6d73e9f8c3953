"""Memories that are nearly the same, and of which a person has said that both are wanted."""

from __future__ import annotations

from uuid import UUID

import redis

Two = tuple[UUID, UUID]


def say(client: redis.Redis, pool: str, two: Two, *, different: bool) -> None:
    """Note that both of two memories are wanted, or take that back."""
    if different:
        client.sadd(_key(pool), _both(two))
    else:
        client.srem(_key(pool), _both(two))


def but_different(client: redis.Redis, pool: str, pairs: list[Two]) -> list[Two]:
    """Those pairs of a pool of which nobody has said that."""
    known = client.smismember(_key(pool), [_both(two) for two in pairs]) if pairs else []
    return [two for two, is_known in zip(pairs, known, strict=True) if not is_known]


def _key(pool: str) -> str:
    return f"memshare:different:{pool}"


def _both(two: Two) -> str:
    return " ".join(sorted(map(str, two)))
