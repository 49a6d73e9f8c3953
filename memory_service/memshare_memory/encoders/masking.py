"""A prompt without what it is about, so that prompts that ask the same of other things are near each other.

Quoted strings, names and numbers are replaced before encoding, after DAIL-SQL (arXiv 2308.15363).
"""

from __future__ import annotations

import re
from itertools import pairwise

MASK = "<mask>"
LONGEST = 2_000  # characters; a longer text is about too much to be asked again of something else

_QUOTED = re.compile(r"\"[^\"\n]*\"|“[^”\n]*”|„[^“”\n]*[“”]|«[^»\n]*»|(?<!\w)'[^'\n]*'(?!\w)|(?<!\w)‘[^’\n]*’(?!\w)")
_NUMBER = re.compile(r"(?<![A-Za-z_0-9])\d[\d.,:/-]*(?<![.,:/-])")
_WORD = re.compile(r"[^\W\d_][\w’'-]*")
_SELF = re.compile(r"I(?:[’'].*)?|mask")
_ENDS = ".?!:\n"  # of a sentence; the word after it has a capital whatever it is
_SEVERAL = re.compile(rf"{MASK}(?:\s+{MASK})+")


def masked(text: str) -> str:
    """The text with `<mask>` for each quoted string, name and number, and one for several in a row.

    A name is a word with a capital that does not begin a sentence. Of a text in capitals alone none is one.
    """
    if len(text) > LONGEST:
        return text
    text = _QUOTED.sub(MASK, text)
    words = [one for one in _WORD.finditer(text) if not _SELF.fullmatch(one[0])]
    names = [later for earlier, later in pairwise(words) if _is_name(text[earlier.end() : later.start()], later[0])]
    if len(names) + 1 < len(words) or len(words) <= 2:
        for name in reversed(names):
            text = f"{text[: name.start()]}{MASK}{text[name.end() :]}"
    return _SEVERAL.sub(MASK, _NUMBER.sub(MASK, text))


def _is_name(between: str, word: str) -> bool:
    return word[0].isupper() and not any(sign in between for sign in _ENDS)
