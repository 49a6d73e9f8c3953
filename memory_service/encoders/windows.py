"""Long texts: an encoder reads only so many tokens, so a longer text is encoded in pieces, and is their mean."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from memshare.memory_service.encoders.encoder import BoundedEncoder, Encoder

MOST = 16  # pieces of a text; of a longer one, so many that are spread evenly over it
SPECIAL = 2  # tokens that a model puts around every text
ASCII, OTHER = 0.3, 1.0  # tokens of a character: words of four letters with a space, and scripts that are spelt out

_WORD = re.compile(r"\S+\s*|\s+")


class Windows:
    """An encoder of which no text is read by its beginning alone. A text that fits has the vector that it had."""

    def __init__(self, encoder: Encoder, tokens: int) -> None:
        """`tokens` is how many the encoder reads of a text."""
        self.name = encoder.name
        self.dimension = encoder.dimension
        self._encoder = encoder
        self._tokens = tokens - SPECIAL

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        cut = [spread(list(pieces(text, self._tokens))) for text in texts]
        vectors = self._encoder.encode([piece for some in cut for piece in some])
        if len(vectors) == len(texts):
            return vectors
        means = np.empty((len(texts), self.dimension), dtype=np.float32)
        start = 0
        for row, some in enumerate(cut):
            own = vectors[start : start + len(some)]
            start += len(some)
            mean = own[0] if len(some) == 1 else np.average(own, axis=0, weights=[cost(piece) for piece in some])
            means[row] = mean / np.linalg.norm(mean)
        return means


def whole_texts(encoder: Encoder) -> Encoder:
    """An encoder that reads whole texts: itself, or in pieces where it reads the beginning alone."""
    return Windows(encoder, encoder.window) if isinstance(encoder, BoundedEncoder) else encoder


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
