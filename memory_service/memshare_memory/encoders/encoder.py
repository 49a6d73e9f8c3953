"""The door to encoders: texts in, dense vectors out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


UNLIMITED = 1_000_000
"""Tokens, for an encoder that reads a text whatever its length."""


class Encoder(Protocol):
    """Something that encodes texts. Its name stands beside every vector it makes."""

    name: str
    dimension: int

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of length 1, of shape (len(texts), dimension)."""
        ...


@runtime_checkable
class BoundedEncoder(Encoder, Protocol):
    """An encoder that reads the beginning of a text alone: `window` tokens of it."""

    window: int
