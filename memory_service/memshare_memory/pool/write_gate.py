"""The gate of the store: many write at once, and whoever moves the pool to another store closes it for a moment."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import redis

from memshare_broker.errors import TryAgain
from memshare_broker.presence import WORKER_INCARNATION, present_and_vanished
from memshare_memory.encoders.encoder import ENCODER

CLOSED, WRITERS = "memshare:gate:closed", "memshare:gate:writers"

LONGEST_WRITE = 60  # seconds; a writer that was killed counts for no longer
# A writer has its pool to itself for less time than it counts at the gate: who holds a lock is always one of those
# whom a closer waits for. A writer that was killed keeps its pool from the others for this long at most.
LOCK_SECONDS = LONGEST_WRITE // 2
LOOK_AFTER, LOOK_EVERY = 1.0, 5.0  # seconds of waiting, after which a writer looks whether who has the lock was killed
LONGEST_CLOSURE = 60  # seconds since its last sign of life; a closer that was killed holds the gate for no longer
PATIENCE = 1  # seconds that a writer waits for the gate with its thread, which others need to read
COME_BACK = 25  # seconds after which it should try again
POLL, LOCK_POLL = 0.02, 0.005

_SCRIPTS = Path(__file__).with_name("write_gate_scripts")


class WriteGate:
    """A lock across all processes of one Redis: writers share it, a migration holds it alone."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._enter, self._leave, self._writers, self._keep_closed, self._open = (
            client.register_script((_SCRIPTS / f"{name}.lua").read_text())
            for name in ("enter", "leave", "count_writers", "keep_closed", "open")
        )

    @contextmanager
    def writing(self, alone_in: str | None = None) -> Iterator[str | None]:
        """Write inside the block, which gets the name of the encoder in use, if there is one.

        With `alone_in`, nobody else is in a block with the same pool. Entering is one round trip, and leaving another.
        Raises `TryAgain` where the gate is closed for more than a moment, where the pool is busy for longer than a
        killed writer can hold it, and, at the end, where the block took so long that another one was let in.
        """
        lock = [] if alone_in is None else [lock_key(alone_in)]
        token = f"{WORKER_INCARNATION}:{uuid4().hex}"
        encoder = self._wait_to_enter(token, lock, alone_in)
        try:
            yield encoder
        except BaseException:
            self._leave(keys=[WRITERS, *lock], args=[token])
            raise
        if not self._leave(keys=[WRITERS, *lock], args=[token]):
            raise TryAgain(f"Writing to the pool {alone_in!r} took longer than {LOCK_SECONDS} s, and others wrote.")

    def _wait_to_enter(self, token: str, lock: list[str], alone_in: str | None) -> str | None:
        began, look = time.monotonic(), LOOK_AFTER
        while True:
            state, *encoder = self._enter(
                keys=[CLOSED, WRITERS, ENCODER, *lock], args=[token, LONGEST_WRITE, LOCK_SECONDS]
            )
            waited = time.monotonic() - began
            if state == "entered":
                return str(encoder[0]) if encoder and encoder[0] is not None else None
            if state == "closed" and waited > PATIENCE:
                raise TryAgain("The pool is being moved to another encoder. Try again in a moment.", wait=COME_BACK)
            if lock and state == "busy" and waited > look:
                self._free_from_killed(lock[0])
                look = waited + LOOK_EVERY
            if waited > LOCK_SECONDS:
                raise TryAgain(f"Pool {alone_in!r} was busy for {LOCK_SECONDS} s.")
            time.sleep(LOCK_POLL if state == "busy" else POLL)

    def _free_from_killed(self, lock: str) -> None:
        """Let the next one into a pool whose writer was a worker that has vanished."""
        token = str(self._client.get(lock))
        if token.partition(":")[0] in present_and_vanished(self._client)[1]:
            self._leave(keys=[WRITERS, lock], args=[token])

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
            if not self._keep_closed(keys=[CLOSED], args=[token, LONGEST_CLOSURE]):
                raise TryAgain("This process was stopped for so long that the pool is written again. Run it again.")

        try:
            while self._writers(keys=[WRITERS]):
                alive()
                time.sleep(POLL)
            yield alive
        finally:
            self._open(keys=[CLOSED], args=[token])


def lock_key(pool: str) -> str:
    """Held by the one writer that is alone in a pool."""
    return f"memshare:settle:{pool}"
