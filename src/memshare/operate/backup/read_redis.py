"""Reads the keys of a deployment while Redis lets nobody write, so that they fit each other.

Reading goes on meanwhile. Messages on their way to a worker are left out: the ledger has every open message, and the
sweeper sends it again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import redis
from pydantic import JsonValue
from redis.client import NEVER_DECODE

from memshare.operate.backup.saved_key import ALL, beside, lasts
from memshare_broker.errors import MemshareError, TryAgain

_PAUSE = 10.0  # seconds for which one call keeps writers waiting
_RENEW_AFTER = 2.0  # seconds
_AT_ONCE = 2_000  # keys of a round trip
_ABSENT = -2  # what PTTL says of a key that is not there
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

    Who wants to write waits meanwhile. It ends by itself where this process is killed. Raises `TryAgain` where it may
    have ended before the block did: what was read then may not fit together.
    """
    began: float | None = None

    def alive() -> None:
        nonlocal began
        now = time.monotonic()
        if began is not None and now - began > _PAUSE:
            raise TryAgain("Redis was read too slowly to keep writers waiting: nothing was saved. Run this again.")
        if began is None or now - began > _RENEW_AFTER:
            client.client_pause(round(_PAUSE * 1_000), all=False)
            began = now

    try:
        alive()
    except redis.ResponseError as error:
        raise MemshareError(
            f"Redis does not let this user pause writers ({error}), and so nothing that fits together can be read."
            " Allow it with ACL SETUSER NAME +client|pause +client|unpause."
        ) from error
    try:
        yield alive
        alive()
    finally:
        client.client_unpause()


def read_keys(client: redis.Redis, alive: Callable[[], None]) -> Iterator[str]:
    """Every key of the deployment as a `Kept`, in JSON. Nobody may write meanwhile."""
    for kind in _COMMANDS:
        batch: list[str] = []
        for name in client.scan_iter(ALL, count=5_000, _type=kind):
            key = str(name)
            if lasts(key):
                batch.append(key)
            if len(batch) >= _AT_ONCE:
                alive()
                yield from _read_with_results(client, kind, batch)
                batch = []
        yield from _read_with_results(client, kind, batch)


def _read_with_results(client: redis.Redis, kind: str, keys: list[str]) -> Iterator[str]:
    yield from _read(client, kind, keys)
    yield from _read(client, "string", [one for key in keys for one in beside(key)])


def _read(client: redis.Redis, kind: str, keys: list[str]) -> Iterator[str]:
    command, *rest = _COMMANDS[kind]
    with client.pipeline(transaction=False) as ask:
        for key in keys:
            ask.pttl(key)
            ask.execute_command(command, key, *rest, **{NEVER_DECODE: True})  # type: ignore[no-untyped-call]
        replies = ask.execute()
    now = time.time() * 1_000
    for key, ttl, value in zip(keys, replies[::2], replies[1::2], strict=True):
        if ttl != _ABSENT:
            # By hand, as Redis waits; `Kept` reads it.
            saved = {
                "key": key,
                "type": kind,
                "expires": int(now + ttl) if ttl >= 0 else None,
                "value": _as_text(value),
            }
            yield json.dumps(saved, ensure_ascii=False)


def _as_text(value: Any) -> JsonValue:
    """What Redis replies, as texts."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, float | int):
        return repr(float(value))
    nested = value.items() if isinstance(value, dict) else value
    parts = [part for one in nested for part in (one if isinstance(one, list | tuple) else [one])]
    return [_as_text(part) for part in parts]
