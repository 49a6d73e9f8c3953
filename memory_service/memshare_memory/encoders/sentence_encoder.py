"""The encoder in torch: what a GPU runs, what training starts from, and what has no export."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from memshare_broker.errors import BadInput
from memshare_memory.encoders.device import torch_device
from memshare_memory.encoders.encoder import BUNDLED, UNLIMITED, bundled_folder

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

LARGEST_BATCH = 64


class SentenceTransformerEncoder:
    """A sentence-transformers model: the bundled one, a folder, or a name of the model hub.

    `name` is what stands beside its vectors where that is not `path`; `device` is as `torch_device` takes it.
    Raises `BadInput` for what cannot be loaded.
    """

    def __init__(self, path: str | None, *, name: str | None = None, device: str | None = None) -> None:
        self.name = name or path or BUNDLED
        self._model = load_model(path, name, torch_device(device))
        self.dimension = int(self._model.get_embedding_dimension() or 0)
        self.window = int(min(self._model.max_seq_length or UNLIMITED, UNLIMITED))
        """Tokens that it reads of a text."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = self._model.encode(
            list(texts), batch_size=LARGEST_BATCH, normalize_embeddings=True, show_progress_bar=False
        )
        # Without texts the model gives no rows at all, and on a GPU it may give half precision.
        return np.asarray(vectors, dtype=np.float32).reshape(len(texts), self.dimension)


def load_model(path: str | None, name: str | None, device: str) -> SentenceTransformer:
    """The model of a folder or name, or the bundled one for none. Raises `BadInput` for what cannot be loaded."""
    from safetensors import SafetensorError
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        model = SentenceTransformer(path or str(bundled_folder()), device=device)
    except (OSError, ValueError, SafetensorError) as error:
        raise cannot_be_loaded(path, name, str(error) or type(error).__name__) from error
    return model.float() if device == "cpu" else model  # a processor is slower with half precision


def cannot_be_loaded(path: str | None, name: str | None, reason: str) -> BadInput:
    """The error for a model that cannot be loaded, with the first line of the reason."""
    reason = reason.splitlines()[0].rstrip(".")
    if name is not None:
        return BadInput(
            f"The encoder {name!r} cannot be loaded from {path!r}: {reason}. Expected a sentence-transformers folder."
        )
    return BadInput(
        f"MEMSHARE_ENCODER={path!r} cannot be loaded: {reason}. "
        "Expected a sentence-transformers model's name or folder, or openai:NAME."
    )
