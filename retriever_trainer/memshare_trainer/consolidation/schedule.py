"""When a deployment consolidates by itself."""

from __future__ import annotations

import json
import math

import redis

from memshare_broker.observe.metrics import POOLS

FIRST_AT = 100  # lessons of all pools together
GROWTH = 1.5
MOST_MEMORIES = 20_000  # a larger pool takes long to encode again, so that somebody has to want it


def next_at(last: int) -> int:
    """How many lessons the next consolidation waits for; there were `last` at the last one, 0 where there was none."""
    return max(FIRST_AT, math.ceil(GROWTH * last))


def starts(lessons: int, last: int, memories: int) -> bool:
    """Whether it is time for the next one, and it may start by itself."""
    return lessons >= next_at(last) and memories <= MOST_MEMORIES


def is_suggested(lessons: int, last: int, memories: int) -> bool:
    """Whether it is time for the next one, and somebody has to start it."""
    return lessons >= next_at(last) and memories > MOST_MEMORIES


def memories(client: redis.Redis) -> int:
    """How many memories all pools have, as the memory service counted them last."""
    return sum(count for pool in json.loads(client.get(POOLS) or "{}").values() for count in pool.values())
