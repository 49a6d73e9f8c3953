"""How far a trained encoder reaches: to texts like those it was trained on. All others keep their first vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memshare_memory.encoders.encoder import UNLIMITED, BoundedEncoder, Encoder

FILE = "reach.npz"  # beside the weights


@dataclass(frozen=True)
class Reach:
    """The texts that a trained encoder was trained for: those whose cosine with one of the `examples` is large enough.

    `examples` has shape (texts, dimension): vectors of the trained encoder, of texts that it was trained on.
    """

    examples: NDArray[np.float32]
    nearness: float

    def covers(self, vectors: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Of vectors of the trained encoder, of shape (texts, dimension): whether it is the one for the text."""
        return self.near(vectors) >= self.nearness

    def near(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """The largest cosine of each vector with an example, of shape (texts,)."""
        largest: NDArray[np.float32] = (vectors @ self.examples.T).max(axis=1)
        return largest

    def write(self, folder: Path) -> None:
        np.savez(folder / FILE, examples=self.examples, nearness=np.float32(self.nearness))

    @classmethod
    def read(cls, folder: Path) -> Reach:
        with np.load(folder / FILE) as read:
            return cls(read["examples"], float(read["nearness"]))


class WithinReach:
    """A trained encoder that leaves texts out of its reach to the first one, which is opened for the first of them."""

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
        vectors = self._trained.encode(texts)
        others = np.flatnonzero(~self._reach.covers(vectors)).tolist()
        if others:
            vectors[others] = self._first.encode([texts[place] for place in others])
        return vectors


def within_reach(trained: Encoder, folder: Path, first: Callable[[], Encoder]) -> Encoder:
    """The trained encoder of a folder as it is to be used; one from before there were reaches is for all texts."""
    return WithinReach(trained, Reach.read(folder), first) if (folder / FILE).exists() else trained
