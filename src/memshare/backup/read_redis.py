"""Reads the keys of a deployment while Redis lets nobody write, so that they fit each other.

Reading goes on meanwhile. Messages on their way to a worker are left out: the ledger has every open message, and the
sweeper sends it again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import redis
from pydantic import JsonValue
from redis.client import NEVER_DECODE

from memshare.backup.kept_key import ALL, Kept, beside, lasts
from memshare.broker.errors import MemshareError

_PAUSE = 5_000  # milliseconds for which one call keeps writers waiting
_RENEW_AFTER = 2.0  # seconds
_AT_ONCE = 500  # keys of a round trip
_COMMANDS: dict[str, tuple[str, ...]] = {
    "string": ("GET",),
    "hash": ("HGETALL",),
    "list": ("LRANGE", "0", "-1"),
    "set": ("SMEMBERS",),
    "zset": ("ZRANGE", "0", "-1", "WITHSCORES"),
}


@contextmanager
def nobody_writes(client: redis.Redis) -> Iterator[Callable[[], None]]:
    """Keep every client of this Redis from writing while the block runs; it gets a sign of life to call now and then.

    Who wants to write waits meanwhile. It ends by itself where this process is killed.
    """
    renewed = float("-inf")

    def alive() -> None:
        nonlocal renewed
        if time.monotonic() - renewed > _RENEW_AFTER:
            client.client_pause(_PAUSE, all=False)
            renewed = time.monotonic()

    try:
        alive()
    except redis.ResponseError as error:
        raise MemshareError(
            f"Redis does not let this user pause writers ({error}), and so nothing that fits together can be read."
            " Allow it with ACL SETUSER NAME +client|pause +client|unpause."
        ) from error
    try:
        yield alive
    finally:
        client.client_unpause()


def read_keys(client: redis.Redis, alive: Callable[[], None]) -> Iterator[Kept]:
    """Every key of the deployment. Nobody may write meanwhile."""
    batch: list[str] = []
    for name in client.scan_iter(ALL, count=1_000):
        key = str(name)
        if lasts(key):
            batch += [key, *beside(key)]
        if len(batch) >= _AT_ONCE:
            alive()
            yield from _read(client, batch)
            batch = []
    yield from _read(client, batch)


def _read(client: redis.Redis, keys: list[str]) -> Iterator[Kept]:
    with client.pipeline(transaction=False) as ask:
        for key in keys:
            ask.type(key)
            ask.pttl(key)
        replies = ask.execute()
        facts = [(key, *pair) for key, pair in zip(keys, zip(replies[::2], replies[1::2], strict=True), strict=True)]
        there = [(key, str(kind), int(ttl)) for key, kind, ttl in facts if kind != "none"]
        for key, kind, _ in there:
            command, *rest = _COMMANDS[kind]
            ask.execute_command(command, key, *rest, **{NEVER_DECODE: True})  # type: ignore[no-untyped-call]
        now = time.time() * 1_000
        for (key, kind, ttl), value in zip(there, ask.execute(), strict=True):
            yield Kept(key=key, type=kind, expires=int(now + ttl) if ttl >= 0 else None, value=_as_text(value))


def _as_text(value: Any) -> JsonValue:
    """What Redis replies, as texts."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, float | int):
        return repr(float(value))
    nested = value.items() if isinstance(value, dict) else value
    parts = [part for one in nested for part in (one if isinstance(one, list | tuple) else [one])]
    return [_as_text(part) for part in parts]
