"""Cutting a text where it can be cut best: between paragraphs, else sentences, else words."""

from __future__ import annotations

import re
from collections.abc import Sequence

# From the best place to cut to the worst. Chinese and Japanese sentences end without a space.
_BORDERS: Sequence[re.Pattern[str]] = (
    re.compile(r"\n\s*\n"),
    re.compile(r"\n"),
    re.compile(r"(?<=[.!?…][\"'”’)\]])\s+|(?<=[.!?…])\s+|(?<=[。！？])"),
    re.compile(r"\s+"),
)


def pieces(text: str, characters: int) -> list[str]:
    """The text in order, in pieces of at most so many characters, each as long as the borders allow.

    Raises `ValueError` for less than one character.
    """
    if characters < 1:
        raise ValueError(f"A piece of {characters!r} characters is none; expected at least 1.")
    cut: list[str] = []
    start = 0
    while start < len(text):
        end = _end(text, start, characters)
        if piece := text[start:end].strip():
            cut.append(piece)
        start = end
    return cut


def _end(text: str, start: int, characters: int) -> int:
    """Where the piece that begins at `start` ends: after the last of the best borders in its second half."""
    limit = start + characters
    if len(text) <= limit:
        return len(text)
    for border in _BORDERS:
        places = [found.end() for found in border.finditer(text, start + characters // 2, limit)]
        if places:
            return places[-1]
    return limit
