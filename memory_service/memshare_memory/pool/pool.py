"""The pool in the generation that is in use: one encoder, and the store whose vectors it made.

Consolidation builds the next generation beside it and names its encoder in Redis: that is the swap, in one
step. Every process notices at its next recall, opens the new generation and lets go of the old one.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import redis

from memshare_broker.errors import MemshareError, TryAgain
from memshare_memory.pool.encoder_names import ENCODER
from memshare_memory.pool.write_gate import WriteGate
from memshare_memory.recall.recall import Recall

log = logging.getLogger(__name__)

TRY_AGAIN_AFTER = 30.0  # seconds, when a new generation cannot be opened


class Pool:
    """Gives out the `Recall` of the generation in use; who holds one finishes with it, swapped or not."""

    def __init__(self, client: redis.Redis, current: Recall, open_generation: Callable[[str], Recall]) -> None:
        self._client = client
        self._current = current
        self._open_generation = open_generation
        self._gate = WriteGate(client)
        self._opening = threading.Lock()
        self._not_before = 0.0

    def __call__(self) -> Recall:
        """The generation to read from: the one before it while the newest is being opened, or cannot be."""
        name = self._client.get(ENCODER)
        if name in (None, self._current.encoder_name):
            return self._current
        if self._opening.acquire(blocking=False):
            try:
                self._turn_to(str(name))
            except MemshareError as error:
                log.error("Goes on with the encoder %s: %s", self._current.encoder_name, error)
            finally:
                self._opening.release()
        return self._current

    @contextmanager
    def writing(self, alone_in: str | None = None) -> Iterator[Recall]:
        """The generation to write to, which does not change while the block runs.

        With `alone_in`, nobody else is in such a block for the same pool. Raises `TryAgain` when the generation cannot
        be opened here: what is written to an older one would be lost.
        """
        with self._gate.writing(alone_in) as name:
            if name not in (None, self._current.encoder_name):
                with self._opening:
                    self._turn_to(str(name))
            if name not in (None, self._current.encoder_name):
                raise TryAgain(f"The pool has moved to the encoder {name!r}, which cannot be opened here just now.")
            yield self._current

    def _turn_to(self, name: str) -> None:
        if name == self._current.encoder_name or time.monotonic() < self._not_before:
            return
        self._not_before = time.monotonic() + TRY_AGAIN_AFTER
        self._current = self._open_generation(name)
        self._not_before = 0.0
        log.info("Uses the encoder %s and the store that it made.", name)
