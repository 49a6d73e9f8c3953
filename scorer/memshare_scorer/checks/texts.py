"""Checks of an answer by the words in it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memshare_broker.wire.same_text import normal


def contains(prompt: str, answer: str, *, texts: Sequence[str]) -> float:  # noqa: ARG001
    """The share of the texts that the answer has, whatever their case."""
    said = normal(answer).casefold()
    return sum(normal(text).casefold() in said for text in texts) / len(texts)


def matches(prompt: str, answer: str, *, pattern: str) -> bool:  # noqa: ARG001
    """True if the whole answer, but for white space around it, fits a regular expression."""
    return re.fullmatch(pattern, answer.strip()) is not None
