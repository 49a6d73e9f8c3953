"""Text of a model: its reasoning apart from its answer, and nothing in it that no file or message can hold."""

from __future__ import annotations

import re

# How models write their reasoning where the server does not take it off: Qwen and DeepSeek, Magistral, Seed, Kimi,
# gpt-oss.
_TAGS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("[THINK]", "[/THINK]"),
    ("<seed:think>", "</seed:think>"),
    ("◁think▷", "◁/think▷"),
    ("<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),
)
_BEGINS = re.compile("|".join(re.escape(opening) for opening, _ in _TAGS), re.IGNORECASE)
_END_OF = {opening: re.compile(re.escape(closing), re.IGNORECASE) for opening, closing in _TAGS}
# Between quotation marks it is spoken of.
_ENDS = re.compile(f"(?<![`'\"])(?:{'|'.join(re.escape(closing) for _, closing in _TAGS)})(?![`'\"])", re.IGNORECASE)


def split_reasoning(text: str) -> tuple[str, str]:
    """The reasoning with which a text begins, and what follows it.

    Reasoning stands between tags, or ends with a closing one alone: some templates write the opening one for the
    model. Without its end all is reasoning. A tag further on is part of the answer.
    """
    thought: list[str] = []
    rest = text
    if (end := _ENDS.search(rest)) and not _BEGINS.search(rest, 0, end.start()):
        thought.append(rest[: end.start()].strip())
        rest = rest[end.end() :]
    while begin := _BEGINS.match(rest := rest.lstrip()):
        end = _END_OF[_opening(begin[0])].search(rest, begin.end())
        thought.append(rest[begin.end() : end.start() if end else None].strip())
        rest = rest[end.end() :] if end else ""
    return ("\n".join(filter(None, thought)), rest.lstrip()) if thought else ("", text)


def _opening(found: str) -> str:
    """The tag as the table has it, whatever its case was."""
    return next(opening for opening, _ in _TAGS if opening.lower() == found.lower())


def whole_characters(text: str) -> str:
    """The text with its halves of characters joined, and � for each that stays alone."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
