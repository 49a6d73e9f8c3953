"""Leases: what one process holds at a time, as a key of Redis or as a file in a folder.

A lease in Redis passes on by itself where its process was killed, so a process that was stopped may have lost it and
not know: what it guards is written with a fencing number, or after `reacquire()`, which says whether it is still held.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import redis
from filelock import lock_descriptor
from redis.exceptions import LockNotOwnedError
from redis.lock import Lock

from memshare_broker.errors import BadInput, MemshareError

log = logging.getLogger(__name__)

POLL = 0.01  # seconds


@contextmanager
def lease(client: redis.Redis, key: str, seconds: float, *, patience: float = 0) -> Iterator[Lock | None]:
    """Hold a key while the block runs; gives None where another process holds it for `patience` seconds.

    It passes on to others after `seconds` without a `reacquire()`, which raises `LockNotOwnedError` when it has. Any
    thread may call that.
    """
    lock = client.lock(key, timeout=seconds, sleep=POLL, blocking_timeout=patience, thread_local=False)
    if not lock.acquire():
        yield None
        return
    try:
        yield lock
    except BaseException:
        with suppress(redis.RedisError):  # then it runs out; the fault itself is what is to be told
            lock.release()
        raise
    try:
        lock.release()
    except LockNotOwnedError:
        log.warning("%r was held for longer than %g s; another process may have taken it.", key, seconds)


@contextmanager
def folder_lease(folder: Path, file: str, taken: str) -> Iterator[None]:
    """Hold a folder for this process, by a file in it, while the block runs; both are made where there are none.

    Raises `BadInput` where it cannot be written, and `MemshareError` where another `{process}` holds the `{folder}`,
    which are put into the message `taken`.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        held = (folder / file).open("a+")
    except OSError as error:
        raise BadInput(f"The folder {str(folder)!r} cannot be written: {error.strerror}.") from error
    with held:
        held.seek(0)
        if not lock_descriptor(held.fileno(), blocking=False):
            raise MemshareError(taken.format(folder=repr(str(folder)), process=held.read().strip() or "unknown"))
        held.truncate(0)
        held.write(str(os.getpid()))
        held.flush()
        yield
