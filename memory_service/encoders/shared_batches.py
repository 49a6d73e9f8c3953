"""One encoder for many threads: texts that come at the same time are encoded together."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING

from memshare.broker.errors import GiveUp
from memshare.memory_service.encoders.encoder import Encoder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LARGEST_SHARED = 64  # texts


class SharedBatches:
    """An encoder for many threads: what they ask for while one batch is encoded goes into the next together.

    Threads that each encode a text of their own at the same time take the processor from each other, and each text
    pays for reading the weights; in a batch they share that. More than 64 texts at once are an import: they are encoded
    beside the others, which would have to wait for seconds behind them.
    """

    def __init__(self, encoder: Encoder) -> None:
        self.name = encoder.name
        self.dimension = encoder.dimension
        self._encoder = encoder
        self._changed = threading.Condition()
        self._encoding = False
        self._waiting: list[tuple[list[str], Future[NDArray[np.float32]]]] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if len(texts) > LARGEST_SHARED:
            return self._encoder.encode(texts)
        mine: Future[NDArray[np.float32]] = Future()
        with self._changed:
            self._waiting.append((list(texts), mine))
            # Who has a result must not queue for a lock behind those who encode the next batch.
            self._changed.wait_for(lambda: mine.done() or not self._encoding)
            if mine.done():
                return mine.result()
            batch, self._waiting = self._waiting, []
            self._encoding = True
        try:
            self._encode_batch(batch)
        finally:
            with self._changed:
                self._encoding = False
                self._changed.notify_all()
        return mine.result()

    def _encode_batch(self, batch: Sequence[tuple[list[str], Future[NDArray[np.float32]]]]) -> None:
        try:
            vectors = self._encoder.encode([text for texts, _ in batch for text in texts])
        except Exception as error:  # noqa: BLE001 - handed on to everyone who waits for this batch
            if isinstance(error, GiveUp) and len(batch) > 1:
                # It may be about one text: whoever did not bring it must not fail with whoever did.
                for one in batch:
                    self._encode_batch([one])
                return
            for _, future in batch:
                future.set_exception(error)
            return
        start = 0
        for texts, future in batch:
            future.set_result(vectors[start : start + len(texts)])
            start += len(texts)
