"""Text as a terminal, logs and Flower can show it: without secrets, and with nothing that commands or hides."""

from __future__ import annotations

import codecs
import io
import re
from typing import TextIO

REPR_LENGTH = 120  # characters of a task's argument and result in logs and in Flower

LEFT_OUT = frozenset({"embedding", "candidates"})  # long, and nothing to read
SHORTEST = 8  # characters of a secret that is known by itself: a shorter one may stand in any word
GLANCE = 600  # characters that are looked at first
READ = 4_000  # characters that are masked to show the first `REPR_LENGTH` of what is left

# Whoever submits a task chooses the text: a pattern must not go over the same characters again from each place where it
# could begin. So each either matches at once what its first word announces, or looks at a bounded piece.
_SECRETS = (
    re.compile(r"(?<![^\W_])(?:sk|pk|hf|msh|gh[pousr]|glpat|xox[abprs])[-_][\w-]{8,}"),
    re.compile(r"(?<![^\W_])AKIA[0-9A-Z]{12,}"),
    re.compile(r"(?<![^\W_])AIza[\w-]{20,}"),
    re.compile(r"(?<![^\W_])eyJ[\w-]{8,}(?:\.[\w-]+){0,2}"),  # JSON in base64, as a token begins
    re.compile(r"(?P<shown>://)(?P<login>\S+)"),
    re.compile(r"(?i)(?<=\bbearer )\s*[\w.~+/=-]{6,}"),
    re.compile(
        r"(?i)(?P<shown>authorization(?:\\?[\"'])?\s*[:=]\s*(?:\\?[\"'])?(?:(?:basic|bearer|token)\s+)?)"
        r"[^\s\"',;\\]+"
    ),
    re.compile(
        r"(?i)(?P<shown>(?:password|passwd|secret|api[_-]?key|access[_-]?key|token)(?:\\?[\"'])?\s*[:=]\s*)"
        r"(?:(?P<quote>\\?[\"'])(?:(?!(?P=quote))(?:\\.|[^\\\n]))+|[^\s\"',;&}]+)"
    ),
)


# Whatever a pattern matches has one of these in it, once it is folded. Most texts have none, and to look for a word is
# cheap. Where a pattern ignores case, none has an i: the pattern takes the dotless one for it, which folds to itself.
_HINTS = (
    *(
        f"{prefix}{separator}"
        for prefix in ("sk", "pk", "hf", "msh", "ghp", "gho", "ghu", "ghs", "ghr")
        for separator in "-_"
    ),
    *("glpat", "xox", "akia", "aiza", "eyj", "://", "bearer", "author", "passw", "secret", "key", "token"),
)


_hidden: set[str] = set()


def hide(secret: str) -> None:
    """Mask this very text from now on in all that this process shows, whatever it looks like."""
    if len(secret) >= SHORTEST:
        _hidden.add(secret)


def masked(text: str) -> str:
    """A text with … in place of what looks like an API key, a token or a password, and of what is hidden."""
    for secret in tuple(_hidden):
        text = text.replace(secret, "…")
    folded = text.casefold()
    if not any(hint in folded for hint in _HINTS):
        return text
    for pattern in _SECRETS:
        text = pattern.sub(_shown if pattern.groupindex else "…", text)
    return text


def shortened(value: object) -> str:
    """The first `REPR_LENGTH` characters of a value as Python writes it, masked, and without its vectors."""
    return cut(repr(without_vectors(value)))


def cut(text: str) -> str:
    """The first `REPR_LENGTH` characters of a text, masked before it is cut: half a key is a secret too."""
    if len(text) > GLANCE:  # mostly enough: what is left of it without its last word, which may go on, fills the line
        shown = masked(text[:GLANCE].rpartition(" ")[0])
        if len(shown) > REPR_LENGTH:
            return shown[: REPR_LENGTH - 1] + "…"
    shown = masked(text[:READ])
    if len(text) > READ and len(shown) <= REPR_LENGTH:
        shown = shown.rpartition(" ")[0] + "…"  # the last word may be half a secret, which no pattern knows
    return shown if len(shown) <= REPR_LENGTH else shown[: REPR_LENGTH - 1] + "…"


def _shown(match: re.Match[str]) -> str:
    """The part of a match that is shown: the name of the secret and its quote, or the address after a login."""
    groups = match.groupdict()
    if groups.get("login") is None:
        return f"{match['shown']}{groups.get('quote') or ''}…"
    _, at, address = match["login"].rpartition("@")
    return f"{match['shown']}…@{address}" if at else match[0]


def without_vectors(value: object) -> object:
    """A JSON value without what is long and says nothing to a reader."""
    if isinstance(value, dict):
        return {name: without_vectors(part) for name, part in value.items() if name not in LEFT_OUT}
    return [without_vectors(part) for part in value] if isinstance(value, list | tuple) else value


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
