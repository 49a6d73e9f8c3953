"""Long texts: an encoder reads only so many tokens, so a longer text is encoded in pieces, and is their mean."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

MOST = 16  # pieces of a text; of a longer one, so many that are spread evenly over it
SPECIAL = 2  # tokens that a model puts around every text
ASCII, OTHER = 0.3, 1.0  # tokens of a character: words of four letters with a space, and scripts that are spelt out

_WORD = re.compile(r"\S+\s*|\s+")


def cut(text: str, window: int) -> list[str]:
    """The pieces of a text that an encoder reads, which reads `window` tokens at a time."""
    return spread(list(pieces(text, window - SPECIAL)))


def mean_of(parts: Sequence[str], vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The vector of a text from those of its pieces, of shape (pieces, dimension). One piece keeps its own."""
    if len(parts) == 1:
        return np.asarray(vectors[0])
    mean = np.average(vectors, axis=0, weights=[cost(part) for part in parts])
    return np.asarray(mean / np.linalg.norm(mean), dtype=np.float32)


def pieces(text: str, tokens: int) -> Iterator[str]:
    """The parts of a text that have at most so many tokens each, cut between words where that is possible."""
    if cost(text) <= tokens:
        yield text
        return
    piece, taken = "", 0.0
    for word in _words(text, tokens):
        needed = cost(word)
        if piece and taken + needed > tokens:
            yield piece
            piece, taken = "", 0.0
        piece += word
        taken += needed
    if piece.strip():
        yield piece


def spread(parts: Sequence[str]) -> list[str]:
    """All parts, or `MOST` of them, the first and the last among them."""
    if len(parts) <= MOST:
        return list(parts)
    return [parts[round(at * (len(parts) - 1) / (MOST - 1))] for at in range(MOST)]


def cost(text: str) -> float:
    """About how many tokens a text has, rather more than fewer."""
    plain = sum(map(str.isascii, text)) if not text.isascii() else len(text)
    return ASCII * plain + OTHER * (len(text) - plain)


def _words(text: str, tokens: int) -> Iterator[str]:
    """The words with the white space behind them; one that is too long, as all of a Chinese text may be, is cut."""
    longest = max(1, int(tokens / OTHER) - 1)
    for found in _WORD.finditer(text):
        word = found.group()
        for start in range(0, len(word), longest):
            yield word[start : start + longest]
