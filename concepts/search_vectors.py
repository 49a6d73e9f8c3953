"""Concepts as sparse vectors of the store: what a memory is stored with, and what it is searched with.

A stored vector depends on the memory alone, and never becomes stale; the store multiplies in the IDF.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from math import sqrt

from memshare.concepts import names
from memshare.concepts.hierarchy import Levels
from memshare.memory_service.stores.store import Sparse

HITS = 5
"""From so many of the best hits of a search concepts are taken."""

IN_PROMPT = 2.0
"""What a concept weighs that the prompt names."""


def document(levels: Levels, key: Callable[[str], str] = names.key) -> Sparse:
    """The vector a memory is stored with: 1 / sqrt(number of its concepts) for each."""
    indices = sorted(_indices(levels, key))
    return Sparse(indices, [1 / sqrt(len(indices))] * len(indices))


def query(hits: Sequence[Levels], in_prompt: Iterable[str] = (), key: Callable[[str], str] = names.key) -> Sparse:
    """The vector to search with: the square root of what each concept weighs.

    A concept weighs 1 / rank in each of the `HITS` best hits, best first, and `IN_PROMPT` where the prompt names it.
    """
    weights: dict[int, float] = {}
    for rank, levels in enumerate(hits[:HITS], start=1):
        for index in _indices(levels, key):
            weights[index] = weights.get(index, 0.0) + 1 / rank
    for name in in_prompt:
        index = zlib.crc32(key(name).encode())
        weights[index] = weights.get(index, 0.0) + IN_PROMPT
    return Sparse(sorted(weights), [sqrt(weights[index]) for index in sorted(weights)])


def _indices(levels: Levels, key: Callable[[str], str]) -> set[int]:
    """The CRC-32 of the keys of concepts, the same in every process. Concepts that collide count as one."""
    return {zlib.crc32(key(name).encode()) for of_level in levels.values() for name in of_level}
