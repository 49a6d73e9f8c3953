"""The door to encoders: texts in, dense vectors out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from memshare_memory.encoders.encoder_name import check_encoder_name

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


def open_encoder(name: str | None, *, device: str | None = None, timeout: float, exports: Path) -> Encoder:
    """The encoder of a name: `openai:MODEL`, a sentence-transformers model or folder, or the bundled one for none.

    `device` is the torch device of a sentence-transformers model, `timeout` the seconds that one call to a server
    may take, `exports` the folder in which exported models are kept. Raises `BadInput` for what cannot be opened, and
    `TryAgain` if a server does not answer now.
    """
    # What an encoder runs on takes up to seconds to import, so it is imported where it is used.
    check_encoder_name(name)
    provider, _, model = (name or "").partition(":")
    if provider != "openai":
        from memshare_memory.encoders.open_model import open_model

        return open_model(name, device=device, exports=exports)
    from memshare_memory.encoders.openai_encoder import OpenAIEncoder

    return OpenAIEncoder(model, timeout=timeout)
