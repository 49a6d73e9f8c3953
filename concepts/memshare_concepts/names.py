"""Names of concepts: which are allowed, how they are written, and which spellings mean the same concept."""

from __future__ import annotations

import re
import unicodedata

from memshare_memory.people import concept_key as key

__all__ = ["LONGEST", "clean", "key", "may_merge"]

LONGEST = 60  # characters

_SMALL = {"a", "an", "and", "as", "at", "by", "for", "from", "in", "of", "on", "or", "the", "to", "with"}


def clean(name: str) -> str:
    """A name as it is shown: NFKC, single spaces, no dash of other kinds, words in lower case capitalised.

    A name with digits or signs, such as a formula, keeps its case. Raises ValueError, with the reason, for a name that
    is empty, longer than `LONGEST`, without a letter or digit, or that has characters which cannot be printed.
    """
    text = " ".join(unicodedata.normalize("NFKC", name).split())
    if not any(sign.isalnum() for sign in text):
        raise ValueError(
            f"expected the name of a concept, a few words, not {name[:LONGEST]!r}: name it or leave it out"
        )
    if len(text) > LONGEST:
        raise ValueError(
            f"expected a name of at most {LONGEST} characters, not one of {len(text)} that begins with "
            f"{text[:LONGEST]!r}: shorten it to a few words"
        )
    if not text.isprintable():
        raise ValueError(f"expected printable characters, not {text!a}: leave the others out")
    if any(not (sign.isalpha() or sign in " -'") for sign in text):
        return text
    first, *others = text.split(" ")
    return " ".join([_capitalised(first), *(word if word in _SMALL else _capitalised(word) for word in others)])


def may_merge(name: str) -> bool:
    """True if a name may be merged with a name of similar meaning: it has no digit, and no single letter as a word.

    `GPT-3` and `GPT-4` have nearly the same embedding, as have `X` and `Y`.
    """
    words = re.split(r"[^\w]+", name)
    return not any(sign.isdigit() for sign in name) and not any(len(word) == 1 for word in words)


def _capitalised(word: str) -> str:
    return word[0].upper() + word[1:] if word.islower() and len(word) > 1 else word
