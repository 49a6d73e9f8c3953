"""The share of a pool's new memories that become lessons: the trainer sets it, and settling reads it."""

from __future__ import annotations

import redis

from memshare.memory_service.recall.retriever import retriever_key


def pace_key(pool: str, encoder: str) -> str:
    """Hash: `share`, 0 to 1, and `pace`, what the trainer works it out from."""
    return retriever_key(pool, encoder, "pace")


def never(pool: str, encoder: str) -> float:  # noqa: ARG001
    """The share where nobody is to learn."""
    return 0.0


def lesson_share(client: redis.Redis, pool: str, encoder: str) -> float:
    """The share that the trainer has set; 1 where it has not yet set any."""
    text = client.hget(pace_key(pool, encoder), "share")
    return float(text) if text else 1.0
