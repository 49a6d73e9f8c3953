"""A page: what is left of HTML, PDF and plain text when markup and boilerplate are gone."""

from __future__ import annotations

import codecs
import logging
import re
from collections.abc import Mapping, Sequence
from typing import Literal

from memshare_broker.child_processes import ask_child
from memshare_broker.errors import GiveUp
from memshare_broker.wire.messages import Message

log = logging.getLogger(__name__)

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


Kind = Literal["html", "pdf", "plain"]

KINDS: dict[str, Kind] = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "application/pdf": "pdf",
    "text/plain": "plain",
    "text/markdown": "plain",
}
"""The content types that can be read."""

MAX_TITLE = 200
MAX_TEXT = 1_000_000
"""Characters that are kept of one source: the log says so of one that has more."""
WHOLE = 16_000_000
"""Characters of one that is to be read as a whole."""

# Python knows encodings that are no character sets, some of them slow for long texts.
_CHARSET = re.compile(
    r"(utf[-_]?(8|16)|(us-)?ascii|iso-?8859-\d+|latin-?1|(windows|cp)-?125\d|koi8-[ru]|gb\w+|big5\w*|euc-\w+|shift_jis)",
    re.IGNORECASE,
)


class SourcePage(Message):
    """The main text of one source: a document's name or a page's URL, after its redirects."""

    source: str
    title: str
    text: str


def one_line(text: str) -> str:
    """A title on one line, without control characters and of at most `MAX_TITLE` characters."""
    printable = "".join(sign if sign.isprintable() else " " for sign in text)
    return " ".join(printable.split())[:MAX_TITLE]


SECONDS: Mapping[str, float] = {"html": 10.0, "pdf": 40.0}
"""Processor time that one document may take. A PDF is read no further after 30 seconds, and what was read counts."""

MEMORY = 512 * 2**20  # bytes; a page of 4 MB that is as long as a novel takes 250
COMMAND = ("-m", "memshare_agents.reasoning.sources.parsing")
PATIENCE = 6  # times as long may pass on the clock, where the processors are busy with other work
MOST_PROCESSES = 2


def parse(
    source: str, data: bytes, kind: Literal["html", "pdf"], charset: str | None, most: int, *, whole: bool = False
) -> tuple[str, str]:
    """The title and up to `most` characters of text, read in a process of its own; the log has what was left out.

    Both are empty where there are none. `charset` is the character encoding of HTML where it is known. Raises `GiveUp`
    for what cannot be read, takes more time or memory than a document may, or cannot be read as a `whole`.
    """
    limits = {"seconds": SECONDS[kind], "memory": MEMORY}
    request = {"source": source, "kind": kind, "charset": charset, "most": most, "whole": whole, **limits}
    try:
        answer = ask_child(COMMAND, MOST_PROCESSES, request, data, PATIENCE * SECONDS[kind], "malformed")
    except GiveUp as error:
        raise GiveUp(f"{error}{' Split it, or save it as text (.txt).' * whole}", error.reason) from error
    return answer["title"], answer["text"]


def page_of(source: str, data: bytes, kind: Kind, charset: str | None = None, *, whole: bool = False) -> SourcePage:
    """The page that a body holds; raises `GiveUp` for one that cannot be read or has no text.

    Of a `whole` one nothing is left out: it is given up instead. `charset` is the character encoding that its sender
    named, if any.
    """
    known = _known(charset)
    if kind == "plain":
        text = data.decode(known or "utf-8-sig", "replace")
        title = _first_heading(text)
    else:
        title, text = parse(source, data, kind, known, WHOLE if whole else MAX_TEXT, whole=whole)
    text = text.replace("\x00", "").strip()
    if len(text) > MAX_TEXT and not whole:
        log.warning("Of %r only the first %s characters are read.", source, f"{MAX_TEXT:,}")
        text = text[:MAX_TEXT]
    text = _storable(text)
    if not text:
        raise GiveUp(f"There is no text in {source!r}.", "malformed")
    return SourcePage(
        source=source, title=one_line(_storable(title)) or one_line(source.rsplit("/", 1)[-1]) or source, text=text
    )


def _storable(text: str) -> str:
    """A text without halves of characters, as PDFs can have them, which no message can carry."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _known(charset: str | None) -> str | None:
    try:
        return codecs.lookup(charset).name if charset and _CHARSET.fullmatch(charset) else None
    except LookupError:
        return None


def _first_heading(text: str) -> str:
    """The heading with which a Markdown text begins."""
    found = re.match(r"\s*#{1,6}\s+(.+)", text)
    return found[1] if found else ""
