"""Text as a terminal can be sent it: what would command it, or could not be seen, is written out, and what its
encoding has no byte for is replaced."""

from __future__ import annotations

import codecs
import io
import re
from typing import TextIO

# Control characters but line feed and tab, characters that turn the direction of writing or have no width, and halves
# of a character (lone surrogates).
_UNSEEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff"
)
# A joiner (U+200C, U+200D) belongs between two signs of a script that needs it, as Persian does, and of an emoji.
_JOINED = "\u0590-\u10ff\u1780-\u18af\u2190-\u2bff\ua800-\uabff\ufb1d-\ufdff\ufe0f\ufe70-\ufefc\U0001f000-\U0001faff"
_WRITTEN_OUT = re.compile(f"[{_UNSEEN}]|(?<![{_JOINED}])[\u200c\u200d]|[\u200c\u200d](?![{_JOINED}])")

_SIMILAR = {
    **dict.fromkeys("‐‑‒–—―−·", "-"),
    **dict.fromkeys("‘’‚′", "'"),
    **dict.fromkeys("“”„″", '"'),
    "→": ">",
    "←": "<",
    "…": "...",
    "×": "x",
    "•": "*",
    "\xa0": " ",
}


def plain(text: str) -> str:
    r"""The text with `\x1b` for the character that it names, and so on; lines and tabs stay.

    >>> print(plain("a\x1b[2Jb"))
    a\x1b[2Jb
    """
    return _WRITTEN_OUT.sub(lambda found: ascii(found[0])[1:-1], text.replace("\r\n", "\n"))


def plain_line(text: str) -> str:
    """The same on one line: where the text begins another line, it shows as such."""
    return plain(text).replace("\n", "\\n")


def plain_json(text: str) -> str:
    r"""JSON with an escape (`\u202e`) for each of these characters, which is the same JSON."""
    return _WRITTEN_OUT.sub(lambda found: _escaped(found[0]), text)


def _escaped(sign: str) -> str:
    pairs = sign.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{pairs[at]:02x}{pairs[at + 1]:02x}" for at in range(0, len(pairs), 2))


def has_all_characters(file: TextIO | None) -> bool:
    """True if the encoding of a file has every character, or if there is no file."""
    return (getattr(file, "encoding", None) or "utf-8").lower().startswith("utf")


def replace_what_is_missing(*files: TextIO) -> None:
    """Let each file take a similar character, or `?`, for one that its encoding lacks."""
    codecs.register_error("similar", _similar)
    for file in files:
        if isinstance(file, io.TextIOWrapper) and not has_all_characters(file):
            file.reconfigure(errors="similar")


def _similar(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    missing = error.object[error.start : error.end]
    return "".join(_SIMILAR.get(sign, "?") for sign in missing), error.end
