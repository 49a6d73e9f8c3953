"""How the inventing model sees a text: its words, which of them tell its topic, and its language."""

from __future__ import annotations

import re

# A Chinese character, a number with its unit ("3 days", "8-week"), or any other word.
WORD = re.compile(r"[一-鿿]|\d+(?:[.,:]\d+){0,3}[ -][^\W\d_一-鿿]+|[^\W_一-鿿]+")

# Frequent words of grammar and of requests, which tell no topic.
_ENGLISH = """about after afterwards and answer are but can compose could create draw end explain for from give has have
    her his how included invent its like limerick make need not one out over plan please pun puzzle riddle say set short
    should show sonnet tell that the them then they this was what when which who whose why with work write you your"""
_STOP_WORDS = {*_ENGLISH.split(), *"请以为题写作一首的五言律诗目是"}


def tokens(text: str) -> list[str]:
    """The words in order, as they are spelt."""
    return WORD.findall(text)


def key(word: str) -> str:
    """What two spellings of a word share: 'Owls' and 'owl', '8-week' and '8 weeks'."""
    return word.lower().replace("-", " ").rstrip("s")


def topics(words: list[str]) -> list[str]:
    """Those of the words that may tell what a text is about."""
    return [word for word in words if (len(word) > 2 or word >= "一") and word.lower() not in _STOP_WORDS]


def is_chinese(text: str) -> bool:
    """Whether most of the words are Chinese characters."""
    words = tokens(text)
    return sum(word >= "一" for word in words) > len(words) / 2
