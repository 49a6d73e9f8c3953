"""How far a trained encoder reaches: to texts like those it was trained on. All others keep their first vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memshare_memory.encoders.encoder import UNLIMITED, BoundedEncoder, Encoder

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
