"""Which spellings mean the same concept."""

from __future__ import annotations

import re
import unicodedata

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


def _singular(word: str) -> str:
    """A word without its plural ending. It need not be a correct singular, only the same for singular and plural."""
    if len(word) < 4 or not word.isalpha() or not word.endswith("s") or word.endswith(("ss", "us", "is", "ics")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "ches", "shes", "xes", "zzes")):
        return word[:-2]
    return word[:-1]
