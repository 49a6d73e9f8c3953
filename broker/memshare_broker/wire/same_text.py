"""Which texts are the same text, whatever they are typed with: by this memories and tasks are told apart."""

from __future__ import annotations

import re
import string
import unicodedata

# Soft hyphen, zero width space, word joiner, byte order mark: they say nothing, wherever they stand.
_MEANINGLESS = "\u00ad\u200b\u2060\ufeff"
# These join letters, or turn their direction, between letters alone. Tags, which flags end with, are not among them.
_MEANINGLESS_AT_ENDS = "\u061c\u180e" + "".join(
    chr(code)
    for first, last in ((0x200C, 0x200F), (0x202A, 0x202E), (0x2061, 0x206F))
    for code in range(first, last + 1)
)
_NO_BREAK_SPACES = "\u00a0\u2007\u202f"
_ANYWHERE = str.maketrans(_NO_BREAK_SPACES, " " * len(_NO_BREAK_SPACES), _MEANINGLESS)
_AT_ENDS = str.maketrans("", "", _MEANINGLESS_AT_ENDS)
_ENDS = _MEANINGLESS_AT_ENDS + string.whitespace
_ODD = re.compile(f"[{_MEANINGLESS}{_MEANINGLESS_AT_ENDS}{_NO_BREAK_SPACES}]")
# Nothing shows of these either, although Unicode has them as letters, marks and signs.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]+"
)
_NO_LETTERS = re.compile(r"[\W_\u115f\u1160]+")


def normal(text: str) -> str:
    """The one spelling of a text: composed (NFC), with plain spaces, without characters that show and say nothing.

    A joiner between letters, and what makes an emoji another one, stays. ASCII is its own spelling.
    """
    if text.isascii() or (unicodedata.is_normalized("NFC", text) and not _ODD.search(text)):
        return text
    text = text.translate(_ANYWHERE)
    core = text.strip(_ENDS)
    start = text.find(core)
    end = start + len(core)
    return unicodedata.normalize("NFC", text[:start].translate(_AT_ENDS) + core + text[end:].translate(_AT_ENDS))


def letters(text: str) -> str:
    """The letters and digits of a text without the differences of case and width: look-alikes have the same."""
    return _NO_LETTERS.sub("", unicodedata.normalize("NFKC", text).casefold())


def is_blank(text: str) -> bool:
    """Whether a text shows nothing: it is empty, or has white space and invisible characters alone."""
    return all(one.isspace() or unicodedata.category(one) in ("Cc", "Cf") for one in _BLANK.sub("", text))
