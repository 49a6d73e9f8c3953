"""The gate of the store: many write at once, and whoever moves the pool to another store closes it for a moment."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import uuid4

import redis

from memshare.broker.errors import TryAgain

CLOSED, WRITERS = "memshare:gate:closed", "memshare:gate:writers"

LONGEST_WRITE = 60  # seconds; a writer that was killed counts for no longer
LONGEST_CLOSURE = 60  # seconds since its last sign of life; a closer that was killed holds the gate for no longer
PATIENCE = 1  # seconds that a writer waits for the gate with its thread, which others need to read
COME_BACK = 25  # seconds after which it should try again
POLL = 0.02

# KEYS: closed, writers. ARGV: the writer's token, seconds it may take
_ENTER = """
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
local time = redis.call('TIME')
local now = time[1] + time[2] / 1e6
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
redis.call('ZADD', KEYS[2], now + ARGV[2], ARGV[1])
return 1
"""
_WRITERS = """
local time = redis.call('TIME')
return redis.call('ZCOUNT', KEYS[1], time[1] + time[2] / 1e6, '+inf')
"""
_RENEW = "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('EXPIRE', KEYS[1], ARGV[2])"
_OPEN = "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end"


class WriteGate:
    """A lock that is shared by writers and exclusive for who closes it, over all processes of one Redis."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._enter = client.register_script(_ENTER)
        self._writers = client.register_script(_WRITERS)
        self._renew = client.register_script(_RENEW)
        self._open = client.register_script(_OPEN)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Write inside the block; raises `TryAgain` where the gate is closed for more than a moment."""
        token, deadline = uuid4().hex, time.monotonic() + PATIENCE
        while not self._enter(keys=[CLOSED, WRITERS], args=[token, LONGEST_WRITE]):
            if time.monotonic() > deadline:
                raise TryAgain("The pool is being moved to another encoder. Try again in a moment.", wait=COME_BACK)
            time.sleep(POLL)
        try:
            yield
        finally:
            self._client.zrem(WRITERS, token)

    @contextmanager
    def closed(self) -> Iterator[Callable[[], None]]:
        """Nobody writes while the block runs.

        It gets a sign of life to call now and then, and right before what it closed the gate for; that raises
        `TryAgain` when the block was away for so long that others write again.
        """
        token = uuid4().hex
        if not self._client.set(CLOSED, token, nx=True, ex=LONGEST_CLOSURE):
            raise TryAgain("Another process is moving the pool right now. Wait until it is done.")

        def alive() -> None:
            if not self._renew(keys=[CLOSED], args=[token, LONGEST_CLOSURE]):
                raise TryAgain("This process was stopped for so long that the pool is written again. Run it again.")

        try:
            while self._writers(keys=[WRITERS]):
                alive()
                time.sleep(POLL)
            yield alive
        finally:
            self._open(keys=[CLOSED], args=[token])
