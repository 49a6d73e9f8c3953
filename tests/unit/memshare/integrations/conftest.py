"""The fixtures of the client, on which integrations stand, and a pool with memories of other things."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import redis

from memshare import Memory
from memshare_agents.answering import NEXT_FROM_OTHERS
from memshare_broker.delivery.schema import MESSAGES
from tests.unit.memshare.client.conftest import backend, client, recall, shelf, url

__all__ = ["backend", "client", "recall", "shelf", "url"]

APART = [NEXT_FROM_OTHERS, "Understood."]
"""What tells memories that stand in a conversation apart from it."""

Pairs = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def unrelated(client: Memory) -> None:
    """Fifty memories that have nothing to do with what is asked."""
    for number in range(50):
        client.memories.add(f"Part {number}.", pool="logic", prompt=f"which part has valve {number}", new_pool=True)


@pytest.fixture
def pairs(redis_client: redis.Redis) -> Pairs:
    """What was offered."""

    def offered() -> list[dict[str, Any]]:
        found = map(json.loads, redis_client.hvals(MESSAGES))
        return [one["body"] for one in found if one["task"] == "scorer.offer"]

    return offered


@pytest.fixture
def away() -> Memory:
    """A memory whose door nobody opens."""
    return Memory("http://127.0.0.1:9", tries=1)
