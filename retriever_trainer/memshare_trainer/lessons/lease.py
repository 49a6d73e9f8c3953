"""The lease of a retriever: one trainer at a time, with a number that grows at every change of hands.

The number is a fencing token: what a trainer writes is refused once another one has taken a higher one, however long
the first was away in the meantime.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import redis

from memshare_broker.errors import TryAgain

SECONDS = 10  # after which the lease of a trainer that was killed passes on; a step takes some milliseconds
PATIENCE = 90  # seconds that another one waits
POLL = 0.01

# KEYS: lease, fence. ARGV: token, seconds
_TAKE = """
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'EX', ARGV[2]) then return 0 end
return redis.call('INCR', KEYS[2])
"""
_RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end"


@contextmanager
def leased(client: redis.Redis, lease: str, fence: str) -> Iterator[int]:
    """Hold the lease of this key while the block runs; gives the fencing number, which is kept under the other key.

    Waits for who holds it, and raises `TryAgain` when that takes too long.
    """
    token, deadline = uuid4().hex, time.monotonic() + PATIENCE
    take, release = client.register_script(_TAKE), client.register_script(_RELEASE)
    while not (number := int(take(keys=[lease, fence], args=[token, SECONDS]))):
        if time.monotonic() > deadline:
            raise TryAgain(f"Another trainer has held {lease!r} for {PATIENCE} s.")
        time.sleep(POLL)
    try:
        yield number
    finally:
        release(keys=[lease], args=[token])
