"""The door to encoders: texts in, dense vectors out."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memshare.broker.errors import BadInput, GiveUp
from memshare.memory_service.encoders.sentence_encoder import BUNDLED, SentenceTransformerEncoder

__all__ = ["BUNDLED", "Encoder", "SentenceTransformerEncoder", "SharedBatches", "open_encoder"]


class Encoder(Protocol):
    """Something that encodes texts. Its name stands beside every vector it makes."""

    name: str
    dimension: int

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of length 1, of shape (len(texts), dimension)."""
        ...


def open_encoder(name: str | None, *, device: str | None = None, timeout: float) -> Encoder:
    """The encoder of a name: `openai:MODEL`, a sentence-transformers model or folder, or the bundled one for none.

    `device` is the torch device of a sentence-transformers model, `timeout` the seconds that one call to a server
    may take. Raises `BadInput` for what cannot be opened, and `TryAgain` if a server does not answer now.
    """
    provider, _, model = (name or "").partition(":")
    if provider != "openai":
        return SentenceTransformerEncoder(name, device=device)
    if not model:
        raise BadInput(f"MEMSHARE_ENCODER={name!r} names no model: write openai:NAME.")
    # The SDK takes a second to import, so it is imported where it is used.
    from memshare.memory_service.encoders.openai_encoder import OpenAIEncoder

    return OpenAIEncoder(model, timeout=timeout)


class SharedBatches:
    """An encoder for many threads: what they ask for while one batch is encoded goes into the next together.

    Threads that each encode a text of their own at the same time take the processor from each other, and each text
    pays for reading the weights; in a batch they share that.
    """

    def __init__(self, encoder: Encoder) -> None:
        self.name = encoder.name
        self.dimension = encoder.dimension
        self._encoder = encoder
        self._changed = threading.Condition()
        self._encoding = False
        self._waiting: list[tuple[list[str], Future[NDArray[np.float32]]]] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
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
