"""Text as BM25 sparse vectors (Robertson and Zaragoza 2009, eq. 3.15); the store multiplies in the IDF."""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections import Counter
from typing import NamedTuple


class Sparse(NamedTuple):
    """A sparse vector: indices (32-bit, ascending, each once) and their values, of the same length."""

    indices: list[int]
    values: list[float]


AVERAGE_LENGTH = 100  # tokens in a usual memory. Fixed, for weights that are stored must not change as the pool grows

_K1 = 1.2
_B = 0.75

_CJK = (
    "\u3005\u3007"  # iteration mark, zero
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"  # hangul
)
_ASCII_WORD = re.compile(rb"\w+")
_RUN = re.compile(rf"(?P<cjk>[{_CJK}]+)|(?:(?![{_CJK}])\w)+")


def tokens(text: str) -> list[str]:
    """The words of a text in lower case; a run of Chinese, Japanese or Korean as its character bigrams."""
    found: list[str] = []
    for match in _RUN.finditer(unicodedata.normalize("NFKC", text).casefold()):
        run = match.group()
        if match["cjk"] and len(run) > 1:
            found.extend(run[i : i + 2] for i in range(len(run) - 1))
        else:
            found.append(run)
    return found


def cjk_characters(text: str) -> list[str]:
    """The Chinese, Japanese and Korean characters of a text, one by one."""
    return [] if text.isascii() else re.findall(f"[{_CJK}]", unicodedata.normalize("NFKC", text))


def document(text: str) -> Sparse:
    """The vector a text is stored with: each token's saturated frequency, less in a longer text."""
    found = _indices(text)
    saturation = _K1 * (1 - _B + _B * len(found) / AVERAGE_LENGTH)
    counted = Counter(found)
    weights = {tf: tf * (_K1 + 1) / (tf + saturation) for tf in set(counted.values())}
    indices = sorted(counted)
    return Sparse(indices, [weights[counted[index]] for index in indices])


def query(text: str) -> Sparse:
    """The vector a text is searched with: 1 for every token, however often it occurs."""
    indices = sorted(set(_indices(text)))
    return Sparse(indices, [1.0] * len(indices))


def _indices(text: str) -> list[int]:
    """The tokens as indices: their CRC-32, the same in every process. Tokens that collide count as one."""
    if text.isascii():  # the same tokens, found three times as fast; most texts are
        return list(map(zlib.crc32, _ASCII_WORD.findall(text.lower().encode())))
    return [zlib.crc32(token.encode()) for token in tokens(text)]
