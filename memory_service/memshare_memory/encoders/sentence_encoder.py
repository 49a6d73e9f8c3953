"""The encoder in torch, and its device: what a GPU runs, what training starts from, and what has no export."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from memshare_broker.errors import BadInput
from memshare_memory.encoders.encoder import BUNDLED, UNLIMITED, bundled_folder

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

# NVIDIA, NVIDIA under WSL, NVIDIA Jetson, AMD: the device files that torch needs, whatever else is installed.
GPU_FILES = ("nvidia[0-9]*", "dxg", "nvhost-gpu", "kfd")


def runs_in_torch(device: str | None) -> bool:
    """True if `MEMSHARE_DEVICE` names a GPU, or is unset and there is a GPU. A missing device raises nothing.

    torch, which takes seconds to import, is asked only where the machine looks as if it had one.
    """
    if device is not None:
        return device != "cpu"
    return may_have_gpu() and torch_device(None) != "cpu"


def may_have_gpu(devices: Path = Path("/dev"), torch: str | None = None) -> bool:
    """True if torch could find a GPU: an Apple GPU, or a device file of another and a torch that is not CPU-only.

    `torch` is its version, if not that of the one that is installed.
    """
    if platform.system() == "Darwin":
        return platform.machine() == "arm64"
    return not _is_cpu_only(torch) and any(True for pattern in GPU_FILES for _ in devices.glob(pattern))


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


def _is_cpu_only(torch: str | None) -> bool:
    try:
        return (torch or version("torch")).endswith("+cpu")
    except PackageNotFoundError:
        return True


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
        self.window = int(min(self._model.max_seq_length or UNLIMITED, UNLIMITED))  # tokens that it reads of a text

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
