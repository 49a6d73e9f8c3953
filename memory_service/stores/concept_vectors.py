"""Concepts as sparse vectors: what memories are stored with, and what they are searched with.

A stored vector depends on the memory alone, and never becomes stale; the store multiplies in the IDF.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import sqrt
from typing import Any

from memshare.memory_service.stores.store import Sparse

HITS = 5
"""From so many of the best hits of a search concepts are taken."""

IN_PROMPT = 2.0
"""What a concept weighs that the prompt names."""

Levels = Mapping[Any, Sequence[str]]
"""Names of concepts by level."""

_HYPHEN = re.compile(r"(?<=\w)[-\u2010-\u2015\u2212](?=\w)")


def key(name: str) -> str:
    """What two spellings of one concept have in common: NFKC, no case, no hyphens, the last word in the singular.

    A name of a single character stays as it is: `C` is a language, and `c` the speed of light.
    """
    text = " ".join(unicodedata.normalize("NFKC", name).split())
    if len(text) <= 1:
        return text
    words = _HYPHEN.sub(" ", text).casefold().split()
    return " ".join([*words[:-1], _singular(words[-1])]) if words else text


def document(levels: Levels, key: Callable[[str], str] = key) -> Sparse:
    """The vector that a memory with concepts is stored with: 1 / sqrt(number of its concepts) for each."""
    indices = sorted(_indices(levels, key))
    return Sparse(indices, [1 / sqrt(len(indices))] * len(indices))


def query(hits: Sequence[Levels], in_prompt: Iterable[str] = (), key: Callable[[str], str] = key) -> Sparse:
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


def _singular(word: str) -> str:
    """A word without its plural ending. It need not be a correct singular, only the same for singular and plural."""
    if len(word) < 4 or not word.isalpha() or not word.endswith("s") or word.endswith(("ss", "us", "is", "ics")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "ches", "shes", "xes", "zzes")):
        return word[:-2]
    return word[:-1]
