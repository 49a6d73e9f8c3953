"""Opens the encoder of a name: a model in ONNX Runtime or in torch, or a server of embeddings.

A trained one reaches to texts like those it was trained on. All others keep their first vectors.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memshare_memory.encoders.encoder import BUNDLED, UNLIMITED, BoundedEncoder, Encoder, check_encoder_name
from memshare_memory.encoders.onnx_encoder import OnnxEncoder, exported
from memshare_memory.encoders.sentence_encoder import SentenceTransformerEncoder, runs_in_torch

log = logging.getLogger(__name__)


def open_encoder(name: str | None, *, device: str | None = None, timeout: float, exports: Path) -> Encoder:
    """The encoder of a name: `openai:MODEL`, a sentence-transformers model or folder, or the bundled one for none.

    `device` is the torch device of a sentence-transformers model, `timeout` the seconds that one call to a server
    may take, `exports` the folder in which exported models are kept. Raises `BadInput` for what cannot be opened, and
    `TryAgain` if a server does not answer now.
    """
    check_encoder_name(name)
    provider, _, model = (name or "").partition(":")
    if provider != "openai":
        return open_model(name, device=device, exports=exports)
    from memshare_memory.encoders.openai_encoder import OpenAIEncoder  # openai takes most of a second to import

    return OpenAIEncoder(model, timeout=timeout)


def open_model(path: str | None, *, name: str | None = None, device: str | None, exports: Path) -> Encoder:
    """The encoder of a sentence-transformers folder, a name of the model hub, or the bundled one for none.

    `name` is what stands beside its vectors where that is not `path`. The first to open a model on a processor exports
    it into the folder `exports`, which takes some seconds; torch is imported in a process of its own for that. Raises
    `BadInput` for what cannot be loaded.
    """
    if not runs_in_torch(device):
        export = exported(path, name, exports)
        if export.settings.refused is None:
            return OnnxEncoder(export, name or path or BUNDLED)
        log.warning(
            "The encoder %s runs in torch, which takes longer to start and several hundred MB more: it has no export"
            " for ONNX Runtime, because %s. Remove %s to have that tried again.",
            name or path or BUNDLED,
            export.settings.refused,
            export.folder,
        )
        device = "cpu"
    return SentenceTransformerEncoder(path, name=name, device=device)


FILE = "domain.npz"  # beside the weights


@dataclass(frozen=True)
class Reach:
    """Which texts a trained encoder is for: those on one side of a plane among the vectors of the first encoder.

    In its space, which no training has bent, questions that are worded in a new way still stand with their like.
    """

    weights: NDArray[np.float32]  # (dimension,)
    bias: float

    def covers(self, vectors: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Of vectors of the first encoder, of shape (texts, dimension): whether the trained one is for the text."""
        found: NDArray[np.bool_] = vectors @ self.weights + self.bias >= 0
        return found

    def write(self, folder: Path) -> None:
        np.savez(folder / FILE, weights=self.weights, bias=np.float32(self.bias))

    @classmethod
    def read(cls, folder: Path) -> Reach:
        with np.load(folder / FILE) as read:
            return cls(read["weights"], float(read["bias"]))


class WithinReach:
    """A trained encoder that leaves texts out of its reach to the first one; a text within it is encoded by both."""

    def __init__(self, trained: Encoder, reach: Reach, first: Callable[[], Encoder]) -> None:
        self.name = trained.name
        self.dimension = trained.dimension
        self.window = trained.window if isinstance(trained, BoundedEncoder) else UNLIMITED
        self._trained = trained
        self._reach = reach
        self._open_first = first

    @cached_property
    def _first(self) -> Encoder:
        return self._open_first()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = self._first.encode(texts)
        within = np.flatnonzero(self._reach.covers(vectors)).tolist()
        if within:
            vectors[within] = self._trained.encode([texts[place] for place in within])
        return vectors


def within_reach(trained: Encoder, folder: Path, first: Callable[[], Encoder]) -> Encoder:
    """The trained encoder of a folder as it is to be used; one from before there were reaches is for all texts."""
    return WithinReach(trained, Reach.read(folder), first) if (folder / FILE).exists() else trained
