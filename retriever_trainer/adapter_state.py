"""What learning goes on from, by numpy alone: who only goes back to an earlier version needs no torch."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from safetensors.numpy import load, save

from memshare.retriever_trainer.accuracy import Array

START_BIAS = -6.0


@dataclass(frozen=True)
class State:
    """All that learning goes on from: the adapter's weights W, the bias b, AdamW's moments of both, the steps made."""

    weights: Array  # (dimension, dimension)
    weights_mean: Array
    weights_square: Array
    bias: Array  # ()
    bias_mean: Array
    bias_square: Array
    steps: Array  # (), a whole number

    @classmethod
    def start(cls, dimension: int) -> State:
        """What has learnt nothing, and changes no query."""
        square, number = np.zeros((dimension, dimension), np.float32), np.zeros((), np.float32)
        return cls(square, square, square, np.full((), START_BIAS, np.float32), number, number, number)

    def pack(self) -> bytes:
        """As safetensors, exactly."""
        return save(asdict(self))

    @classmethod
    def unpack(cls, blob: bytes) -> State:
        return cls(**load(blob))
