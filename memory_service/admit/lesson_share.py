"""How many of a pool's new memories become lessons: the trainer says what they are worth, and settling reads it."""

from __future__ import annotations

import math

import redis

from memshare.memory_service.recall.retriever import retriever_key


def pace_key(pool: str, encoder: str) -> str:
    """Hash: `share`, and `pace`, what the trainer works it out from."""
    return retriever_key(pool, encoder, "pace")


def never(pool: str, encoder: str) -> float:  # noqa: ARG001
    """The share where nobody is to learn."""
    return 0.0


def always(pool: str, encoder: str) -> float:  # noqa: ARG001
    """The share where lessons are worth it however large the pool is."""
    return math.inf


def lesson_share(client: redis.Redis, pool: str, encoder: str) -> float:
    """How many times the usual number of lessons the trainer finds worth it; 1 where it has not said yet."""
    text = client.hget(pace_key(pool, encoder), "share")
    return float(text) if text else 1.0
