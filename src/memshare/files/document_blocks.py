"""Statements in a block of a document, the lines between two empty ones: a paragraph, or a list's items, or rows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memshare_broker.wire.same_text import ENDS_SENTENCE

_HEADING = re.compile(r"#{1,6}([ \t].*)?|.+\n(=+|-+)")  # of Markdown; alone it states nothing
_RULER = re.compile(r"(?=.*\|)[\s|:]*-[-\s|:]*")  # between the head of a table and its rows
_ITEM = re.compile(r"\s*([-*+•]|\d{1,3}[.)])\s+")
_BULLET = re.compile(r"[-*+•]\s+")


def statements_in(block: str, *, is_markdown: bool) -> Iterator[tuple[str, bool]]:
    """Its paragraph, its rows named by the head of their table, and each item that is a sentence; False beside what
    states nothing, a heading or a ruler."""
    lines, head = block.split("\n"), list[str]()
    parts = [list[str]()]
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if is_markdown and _RULER.fullmatch(following):
            head = _cells(line)
        elif is_markdown and _RULER.fullmatch(line):
            continue
        elif is_markdown and (line.lstrip().startswith("|") or (head and "|" in line)):
            parts += [[_row(head, _cells(line))], []]
        elif _ITEM.match(line) and (not line.lstrip()[0].isdigit() or _may_end("\n".join(parts[-1]))):
            parts.append([line])
        else:
            parts[-1].append(line)
    joined = list[str]()
    for part in parts:
        text = "\n".join(part).strip()
        if _ITEM.match(text) and not ENDS_SENTENCE.search(text) and joined:
            joined[-1] += f"\n{text}"
        else:
            joined.append(text)
    for text in filter(None, joined):
        states = not (is_markdown and _HEADING.fullmatch(text)) and bool(re.search(r"[^\W_]", text))
        yield " ".join((_BULLET.sub("", text, count=1) if _BULLET.match(text) else text).split()), states


def _may_end(before: str) -> bool:
    """True if a list can begin after these words: a number there is none that is written in them."""
    return not before or before.endswith(":") or bool(_ITEM.match(before) or ENDS_SENTENCE.search(before))


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip().removeprefix("|"))]


def _row(head: list[str], cells: list[str]) -> str:
    named = zip([*head, *[""] * len(cells)], cells, strict=False)
    said = [f"{name}: {cell}" if name else cell for name, cell in named if cell]
    return ("; " if head else " | ").join(said)
