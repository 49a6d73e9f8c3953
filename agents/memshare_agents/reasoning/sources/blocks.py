"""Paragraphs, headings, rows and items of a page of HTML or PDF, written as Markdown has them."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import pypdf

from memshare_broker.wire.same_text import ENDS_SENTENCE

BLOCK = re.compile(rb"<(p|li|ul|ol|h[1-6]|div|table|br)\b", re.IGNORECASE)
"""Tags by which a part of a page is told."""
_UNREAD = {"head", "script", "style", "noscript", "template", "nav", "footer", "svg", "button", "select", "textarea"}
_INLINE = {"a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i"}
_INLINE |= {"ins", "kbd", "label", "mark", "q", "ruby", "s", "samp", "small", "span", "strike", "strong", "sub", "sup"}
_INLINE |= {"time", "tt", "u", "var", "wbr"}
_BETWEEN = "\0"  # two tables; no page has it
_MARKS = {"li": "- "} | {f"h{level}": "#" * level + " " for level in range(1, 7)}
_BREAK = "\n\n"
_IN_LAYOUT = ("table", *(f"h{level}" for level in range(1, 7)))  # a table with these is none of rows


def blocks_of(tree: Any) -> str:
    """All text of a page but menus and footers; rows and items follow each other without an empty line."""
    told: list[str] = []
    _read(tree, told)
    parts = (" ".join(part.split()) for part in re.split(r"\n\s*\n", "".join(told)))
    lines = (("\n" if part.startswith(("- ", "|")) else _BREAK) + part for part in parts if part.strip("-# "))
    return "".join(lines).replace(_BETWEEN, "")


def _read(element: Any, told: list[str]) -> None:
    tag = element.tag
    if not isinstance(tag, str) or tag in _UNREAD:  # a comment has no name
        return
    if tag == "br":
        told.append("\n")  # two of them are between paragraphs
    if tag == "table":
        told += [_BREAK, _BETWEEN]
    if tag == "tr" and next(element.iter(*_IN_LAYOUT), None) is None:
        told += _row(element)
        return
    is_block = tag not in _INLINE and tag != "br"
    if is_block and told and told[-1] not in _MARKS.values():  # the first paragraph of an item is the item
        told.append(_BREAK)
    told += [_MARKS[tag]] if tag in _MARKS else []
    _add(element.text, told)
    for child in element:
        _read(child, told)
        _add(child.tail, told)
    told += [_BREAK] * is_block


def _add(text: str | None, told: list[str]) -> None:
    if text and (text.strip() or (told and told[-1] not in _MARKS.values())):
        told.append(re.sub(r"\s+", " ", text))


def _row(element: Any) -> Iterator[str]:
    """A row as a line, and the ruler below a head."""
    cells = [one for one in element if isinstance(one.tag, str)]
    texts = []
    for cell in cells:
        told: list[str] = []
        _read(cell, told)
        texts.append(" ".join("".join(told).split()).replace("|", "\\|"))
    if any(texts):
        yield from (_BREAK, f"| {' | '.join(texts)} |", _BREAK)
        yield "|---|" * all(cell.tag == "th" for cell in cells)


class _Line(NamedTuple):
    text: str
    y: float
    size: float


def paragraphs_of(page: pypdf.PageObject, watch: Callable[[object, object, object, object], None]) -> str:
    """The text of a page of a PDF, an empty line after each paragraph. A heading is in larger letters than most are.

    A paragraph ends where the next line is further away than lines of sentences are, where letters change their size,
    and where a sentence ends in a line that has room for the next word.
    """
    placed: list[_Line] = []

    def place(text: str, outer: Sequence[float], inner: Sequence[float], _: object, size: float) -> None:
        y = inner[4] * outer[1] + inner[5] * outer[3] + outer[5]
        across = inner[2] * outer[0] + inner[3] * outer[2], inner[2] * outer[1] + inner[3] * outer[3]
        if text := text.strip():
            placed.append(_Line(text.partition("\n")[0], y, size * math.hypot(*across)))

    text = page.extract_text(visitor_operand_before=watch, visitor_text=place).strip()
    lines = list(_lines(text, placed))
    if not lines:
        return text
    letters: dict[float, int] = {}
    for line in lines:
        letters[round(line.size)] = letters.get(round(line.size), 0) + len(line.text)
    usual = max(letters, key=lambda size: letters[size])
    longest = max(len(line.text) for line in lines)
    pairs = list(itertools.pairwise(lines))
    gaps = sorted(a.y - b.y for a, b in pairs if a.y > b.y and not ENDS_SENTENCE.search(a.text))
    most = 1.2 * gaps[len(gaps) // 4] if gaps else 0.0
    written = [_heading(lines[0], usual)]
    for before, line in pairs:
        word = line.text.split(maxsplit=1)[0]
        has_room = line.y > before.y or len(before.text) + 1 + len(word) < 0.9 * longest
        is_next = round(before.size) != round(line.size) or before.y - line.y > most
        if is_next or (has_room and ENDS_SENTENCE.search(before.text)):
            written.append("\n\n" + _heading(line, usual))
        else:
            written.append((" " if line.size > 1.1 * usual else "\n") + line.text)
    return "".join(written)


def _heading(line: _Line, usual: float) -> str:
    is_heading = line.size > 1.1 * usual and not ENDS_SENTENCE.search(line.text)
    return f"# {line.text}" if is_heading else line.text


def _lines(text: str, placed: Sequence[_Line]) -> Iterator[_Line]:
    """The lines of a text, each with the place and the size of what was placed first in it."""
    of_line: dict[int, _Line] = {}
    at, number = 0, 0
    for part in placed:
        found = text.find(part.text, at, at + len(part.text) + 10_000)
        if found >= 0:
            number += text.count("\n", at, found)
            at = found
            of_line.setdefault(number, part)
    last: _Line | None = None
    for number, line in enumerate(text.split("\n")):
        if line.strip():
            last = of_line.get(number, last) or _Line("", 0.0, 0.0)
            yield last._replace(text=line)
