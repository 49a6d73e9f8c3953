"""Texts that can be kept, and which of them are the same, however typed: so memories and tasks are told apart."""

from __future__ import annotations

import json
import re
import string
import unicodedata

from memshare_broker.errors import BadInput

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
# Small letters of Cyrillic and Greek, and the Latin ones that they look like (Unicode's confusables, UTS 39).
_LOOK_ALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b\u051d\u04bd\u04e9"
    "\u03b1\u03b3\u03b9\u03ba\u03bd\u03bf\u03c1\u03c5\u03c7",
    "aeopcyxijshdqweoayikvopux",
)
SENTENCE_ENDS = ".!?…。！？"
ENDS_SENTENCE = re.compile(rf"[{SENTENCE_ENDS}][\"'”’»)\]]*\s*$")
"""The end of the last words of a sentence."""
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
    """The letters and digits of a text without the differences of case, width and script: look-alikes have the same."""
    return _NO_LETTERS.sub("", unicodedata.normalize("NFKC", text).casefold()).translate(_LOOK_ALIKES)


def is_blank(text: str) -> bool:
    """True if a text shows nothing: it is empty, or has white space and invisible characters alone."""
    return all(sign.isspace() or unicodedata.category(sign) in ("Cc", "Cf") for sign in _BLANK.sub("", text))


GZIP = b"\x1f\x8b"
_UTF8 = 'Save a table as "CSV UTF-8", and other text as UTF-8: its editor asks for the encoding where it saves.'
_WORKBOOK = 'a workbook, or another zip file. Save a workbook as "CSV UTF-8". Save a document as text or PDF.'
_CONTROLS = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]")  # no text of any encoding of bytes has these
_MARKS = {
    b"PK\x03\x04": _WORKBOOK,  # .xlsx, and the next is .xls of before
    b"\xd0\xcf\x11\xe0": _WORKBOOK,
    b"PAR1": "Parquet: save it as CSV in UTF-8, or as JSON lines.",
    b"%PDF": "a PDF: to bring it in as a document, call it NAME.pdf.",
    GZIP: "packed with gzip: unpack it first.",
    b"\xff\xfe\x00\x00": f"UTF-32 text; expected UTF-8. {_UTF8}",
    b"\x00\x00\xfe\xff": f"UTF-32 text; expected UTF-8. {_UTF8}",
    b"\xff\xfe": f"UTF-16 text; expected UTF-8. {_UTF8}",
    b"\xfe\xff": f"UTF-16 text; expected UTF-8. {_UTF8}",
}
"""The bytes that files of other forms begin with, and what is said of each."""


def decode(raw: bytes, name: str) -> str:
    """Text of a file, or of another source that is called `name`; raises `BadInput` for bytes that are not UTF-8."""
    for mark, said in _MARKS.items():
        if raw.startswith(mark):
            raise BadInput(f"{name} is {said}")
    try:
        is_utf16 = max(raw[at::2].count(b"\0") for at in (0, 1)) * 4 > len(raw)  # which does not say so
        text, wrong = raw.decode("utf-8-sig"), raw.find(b"\0") if is_utf16 else -1
    except UnicodeDecodeError as error:
        wrong = error.start
    if wrong < 0:
        return text
    if not is_utf16 and _CONTROLS.search(raw):
        raise BadInput(f"{name} is no text: it is a picture, or a file of another kind. Expected is text in UTF-8.")
    line, column = raw.count(b"\n", 0, wrong) + 1, wrong - raw.rfind(b"\n", 0, wrong)
    raise BadInput(f"{name}:{line}: byte {column} of the line, 0x{raw[wrong]:02x}, is not UTF-8 text. {_UTF8}")


def refuse_half_characters(value: object, what: str) -> None:
    """Raises `BadInput` where a text in a JSON value holds half a character (a lone surrogate): nothing can keep it.

    Python makes one of each byte of the command line that is not UTF-8, and of an escape such as `"\\ud83d"` in JSON.
    """
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError as error:
        code = ord(error.object[error.start])
        if 0xDC80 <= code <= 0xDCFF:
            raise BadInput(f"{what} holds the byte 0x{code - 0xDC00:02x}, which is not UTF-8.") from error
        raise BadInput(
            f"{what} holds half a character, \\u{code:04x} (a surrogate alone), which is no text."
        ) from error
