"""Memories with vectors whose cosines are known, for tests of the store."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from memshare_memory.memory import Memory, memory_id
from memshare_memory.stores import bm25
from memshare_memory.stores.store import Hit, Layout, Vectors

DIMENSION = 16
LAYOUT = Layout("tests/compass", DIMENSION)

Item = tuple[Memory, Vectors]


def at(degrees: float) -> NDArray[np.float32]:
    """The unit vector at this angle in one plane: two of them have the cosine of the angle between them."""
    vector = np.zeros(DIMENSION, dtype=np.float32)
    vector[0], vector[5] = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return vector


def remembered(prompt: str | None, degrees: float = 0, answer: str = "Yes.", **fields: Any) -> Item:
    """A memory of this prompt at this angle, in the pool `poem` unless the fields say otherwise."""
    pool = fields.pop("pool", "poem")
    memory = Memory(
        id=memory_id(pool, prompt, answer), pool=pool, prompt=prompt, answer=answer, **{"created": 1.7e9, **fields}
    )
    return memory, Vectors(at(degrees), bm25.document(f"{prompt or ''}\n{answer}"))


def prompts(hits: list[Hit]) -> list[str | None]:
    """The prompts of what was found, in its order."""
    return [hit.memory.prompt for hit in hits]
