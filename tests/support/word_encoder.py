"""An encoder whose cosines can be worked out by hand: a bag of words, hashed and normalised."""

from __future__ import annotations

import re
import threading
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class WordEncoder:
    """Counts the words of a text. It knows ASCII letters only: any other word is the same unknown one."""

    dimension = 256

    def __init__(self, name: str = "tests/words") -> None:
        self.name = name
        self.encoded: list[str] = []
        self._lock = threading.Lock()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        with self._lock:
            self.encoded.extend(texts)
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for word in re.findall(r"\w+", text.casefold()):
                known = word if word.isascii() else "[unknown]"
                row[zlib.crc32(known.encode()) % self.dimension] += 1
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
