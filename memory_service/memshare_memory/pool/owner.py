"""Ownership of a Redis by a pool: the owner of the embedded pool stands in Redis, and a second pool on it is refused.

Agents find one memory service by their Redis. With two embedded pools there, half of what was learnt would lie in
each of them, and nobody would notice.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import uuid4

import redis
from redis.exceptions import LockNotOwnedError

from memshare_broker.connection import address
from memshare_broker.errors import BadInput, TryAgain
from memshare_broker.leases import lease
from memshare_broker.presence import WORKER_INCARNATION, present_and_vanished
from memshare_broker.scripts import Script
from memshare_broker.settings import Settings
from memshare_broker.steady_thread import steady_thread
from memshare_broker.wire.messages import Message
from memshare_memory.encoders.encoder import ENCODER
from memshare_memory.stores.data_folder import pool_id

CLOSED, WRITERS, CLOSED_FOR = "memshare:gate:closed", "memshare:gate:writers", "memshare:gate:closed_for"
MOVING = "The pool is being moved to another encoder"

LONGEST_WRITE = 60  # seconds; a writer that was killed counts for no longer
# A writer has its pool to itself for less time than it counts at the gate: who holds a lock is always one of those
# whom a closer waits for. A writer that was killed keeps its pool from the others for this long at most.
LOCK_SECONDS = LONGEST_WRITE // 2
LOOK_AFTER, LOOK_EVERY = 1.0, 5.0  # seconds of waiting, after which a writer looks whether who has the lock was killed
LONGEST_CLOSURE = 60  # seconds since its last sign of life; a closer that was killed holds the gate for no longer
PATIENCE = 1  # seconds that a writer waits for the gate with its thread, which others need to read
COME_BACK = 25  # seconds after which it should try again
POLL, LOCK_POLL = 0.02, 0.005

ENTER_GATE = Script(
    __file__, "enter_gate", closed=CLOSED, writers=WRITERS, encoder=ENCODER, longest_write=LONGEST_WRITE
)
LEAVE_GATE = Script(__file__, "leave_gate", writers=WRITERS)


class WriteGate:
    """A lock across all processes of one Redis: writers share it, a migration holds it alone.

    Who migrates has a lease. Writers do not: they are counted, and let into a pool of their own, in one round trip.
    """

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    @contextmanager
    def writing(self, alone_in: str | None = None) -> Iterator[str | None]:
        """Write inside the block, which gets the name of the encoder in use, if there is one.

        With `alone_in`, nobody else is in a block with the same pool. Entering is one round trip, and leaving another.
        Raises `TryAgain` where the gate is closed for more than a moment, where the pool is busy for longer than a
        killed writer can hold it, and, at the end, where the block took so long that another one was let in.
        """
        lock = "" if alone_in is None else lock_key(alone_in)
        token = f"{WORKER_INCARNATION}:{uuid4().hex}"
        encoder = self._wait_to_enter(token, lock, alone_in)
        try:
            yield encoder
        except BaseException:
            LEAVE_GATE(self._client, lock=lock, token=token)
            raise
        if not LEAVE_GATE(self._client, lock=lock, token=token):
            raise TryAgain(f"Writing to the pool {alone_in!r} took longer than {LOCK_SECONDS} s, and others wrote.")

    def _wait_to_enter(self, token: str, lock: str, alone_in: str | None) -> str | None:
        began, look = time.monotonic(), LOOK_AFTER
        while True:
            state, *encoder = ENTER_GATE(self._client, lock=lock, token=token, lock_seconds=LOCK_SECONDS)
            waited = time.monotonic() - began
            if state == "entered":
                return str(encoder[0]) if encoder and encoder[0] is not None else None
            if state == "closed" and waited > PATIENCE:
                words = f"{self._closed_for()}, and nothing is written meanwhile. Try again in a moment."
                raise TryAgain(words, wait=COME_BACK)
            if lock and state == "busy" and waited > look:
                self._free_from_killed(lock)
                look = waited + LOOK_EVERY
            if waited > LOCK_SECONDS:
                raise TryAgain(f"Pool {alone_in!r} was busy for {LOCK_SECONDS} s.")
            time.sleep(LOCK_POLL if state == "busy" else POLL)

    def _free_from_killed(self, lock: str) -> None:
        """Let the next one into a pool whose writer was a worker that has vanished."""
        token = str(self._client.get(lock))
        if token.partition(":")[0] in present_and_vanished(self._client)[1]:
            LEAVE_GATE(self._client, lock=lock, token=token)

    def _closed_for(self) -> str:
        return str(self._client.get(CLOSED_FOR) or MOVING)

    @contextmanager
    def closed(self, what: str = MOVING) -> Iterator[Callable[[], None]]:
        """Nobody writes while the block runs; `what` tells those who wait what is being done.

        It gets a sign of life to call now and then, and right before what it closed the gate for; that raises
        `TryAgain` when the block was away for so long that others write again.
        """
        with lease(self._client, CLOSED, LONGEST_CLOSURE) as lock:
            if lock is None:
                raise TryAgain(f"{self._closed_for()}. Wait until that is done.")
            self._client.set(CLOSED_FOR, what)

            def alive() -> None:
                try:
                    lock.reacquire()
                except LockNotOwnedError as error:
                    words = "This process was stopped for so long that the pool is written again. Run it again."
                    raise TryAgain(words) from error

            # One that was killed is not counted for longer than a write may take.
            while self._client.zcount(WRITERS, self._client.time()[0], "+inf"):
                alive()
                time.sleep(POLL)
            yield alive


def lock_key(pool: str) -> str:
    """Held by the one writer that is alone in a pool."""
    return f"memshare:settle:{pool}"


log = logging.getLogger(__name__)

OWNER = "memshare:pool:owner"
EXPIRY = 30  # seconds since its last sign of life; one that was killed keeps other pools out for no longer
CLAIM_POOL = Script(__file__, "claim", owner=OWNER)
RENEW_EVERY = 5  # seconds


class PoolOwner(Message):
    """The process that has the pool of a Redis; `pool` is the id that lies in its folder, `claim` that of the claim."""

    host: str
    folder: str
    pool: str
    pid: int
    claim: str


class Claim:
    """The pool of this process, claimed for its Redis until it is released; a thread of its own renews the claim.

    Unlike a lease it passes to the same pool at once, says whose it is, and comes back in a Redis that lost its data.
    `lost_to` names another pool that took over while this process was away for longer than a claim lasts.
    """

    def __init__(self, client: redis.Redis, owner: PoolOwner) -> None:
        self.owner = owner
        self.lost_to: PoolOwner | None = None
        self._record = owner.model_dump_json()
        self._client = client
        self._released = threading.Event()
        self._thread = steady_thread("pool-owner", self.renew, self._released, every=RENEW_EVERY, delay=RENEW_EVERY)

    def renew(self) -> bool:
        """Give a sign of life; returns whether this process still owns the pool of its Redis."""
        found = CLAIM_POOL(self._client, record=self._record, in_place_of="", seconds=EXPIRY)
        other = PoolOwner.model_validate_json(found[0]) if found else None
        if other and other != self.lost_to:
            log.error("%s Stop one of the two.", _refusal(self.owner, other))
        self.lost_to = other
        return other is None

    def release(self) -> None:
        """Let another pool claim this Redis at once."""
        self._released.set()
        self._thread.join()
        try:
            CLAIM_POOL(self._client, record=self._record, in_place_of="", seconds=0)
        except redis.RedisError as error:
            log.warning("The claim on the pool ends in %d s, Redis does not do its part: %s", EXPIRY, error)


def claim(client: redis.Redis, settings: Settings) -> Claim | None:
    """Claim the Redis of the settings for the embedded pool of the settings; None where the pool is on a server.

    The same folder takes over from itself at once. Raises `BadInput` while another folder has it.
    """
    if not settings.pool_is_embedded:
        return None
    identity = pool_id(settings.data)
    mine = PoolOwner(
        host=socket.gethostname(), folder=str(settings.data), pool=identity, pid=os.getpid(), claim=uuid4().hex
    )
    refused = CLAIM_POOL(client, record=mine.model_dump_json(), in_place_of=identity, seconds=EXPIRY)
    if refused:
        other, seconds = PoolOwner.model_validate_json(refused[0]), refused[1]
        raise BadInput(
            f"{_refusal(mine, other, address(settings.redis))} Start this one with the same MEMSHARE_DATA as that one"
            " (after that one has ended), give it a Redis of its own with MEMSHARE_REDIS_URL, or keep the pool on a"
            " Qdrant server with MEMSHARE_QDRANT_URL, for any number of processes. If the other one was killed, this"
            f" is free in {seconds} s."
        )
    return Claim(client, mine)


def _refusal(mine: PoolOwner, other: PoolOwner, redis_address: str = "this Redis") -> str:
    return (
        f"One Redis is for one embedded pool: {redis_address} belongs to the pool in {other.folder!r} on {other.host!r}"
        f" (process {other.pid}), and not to the one in {mine.folder!r} on {mine.host!r}."
    )
