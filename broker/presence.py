"""Who is there: each worker says every few seconds which queues it serves and which agents it has."""

from __future__ import annotations

from uuid import uuid4

import redis

from broker.messages import Message

PREFIX = "memshare:worker:"
INTERVAL, LIFETIME = 5.0, 20  # seconds
LIFE = uuid4().hex  # of this process and of those it forks: a worker that is started again has another


class AgentCard(Message):
    """What a client has to know of an agent to submit to it."""

    name: str
    kinds: tuple[str, ...]
    pool: str
    model: str
    rubric: str | None = None


class Presence(Message):
    """One worker process."""

    node: str
    pid: int
    life: str
    queues: tuple[str, ...]
    agents: tuple[AgentCard, ...] = ()


def announce(client: redis.Redis, presence: Presence) -> None:
    """Say that this worker is there; it is forgotten when it has not said so for `LIFETIME` seconds."""
    client.set(PREFIX + presence.node, presence.model_dump_json(), ex=LIFETIME)


def withdraw(client: redis.Redis, presence: Presence) -> None:
    client.delete(PREFIX + presence.node)


def present(client: redis.Redis) -> list[Presence]:
    """The workers that are there, by name."""
    keys = sorted(client.scan_iter(PREFIX + "*", count=1000))
    texts = client.mget(keys) if keys else []
    return [Presence.model_validate_json(text) for text in texts if text]
