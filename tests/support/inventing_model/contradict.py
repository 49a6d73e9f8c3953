"""Finds contradictions for the inventing model: two sentences that differ in nothing but a number, a day or a "not"."""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel

from tests.support.inventing_model.words import key, tokens

ALIKE = 0.6  # share of the words of two sentences that both have, above which they speak of the same thing

_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_DAYS = "monday tuesday wednesday thursday friday saturday sunday"
_MONTHS = "january february march april may june july august september october november december"
_DATES = frozenset(key(word) for word in f"{_DAYS} {_DAYS.replace('day', 'days')} {_MONTHS}".split())
_NOT = frozenset({"not", "no", "never", "cannot", "without", "不", "没"})
_OPPOSITES = frozenset({frozenset({"open", "closed"}), frozenset({"true", "false"}), frozenset({"before", "after"})})


class Said(BaseModel):
    """A memory as it is quoted."""

    prompt: str | None
    answer: str


class Compared(BaseModel):
    """The task of comparisons, as the scorer writes it."""

    texts: dict[str, Said]
    pairs: dict[str, tuple[str, str]]


def contradict(task: str) -> dict[str, list[dict[str, Any]]]:
    """A comparison of each two memories; `ValidationError` if `task` is another one."""
    asked = Compared.model_validate_json(task)
    texts = asked.texts
    verdicts = [
        {"pair": int(number), **compared(texts[one].answer, texts[other].answer)}
        for number, (one, other) in asked.pairs.items()
    ]
    return {"comparisons": verdicts}


def compared(one: str, other: str) -> dict[str, Any]:
    for ours in _SENTENCE.split(one):
        for theirs in _SENTENCE.split(other):
            if _differ(ours, theirs):
                return {"claims": f"{ours.strip()} / {theirs.strip()}", "contradicts": True}
    return {"claims": "They deny nothing of each other.", "contradicts": False}


def _differ(one: str, other: str) -> bool:
    ours, theirs = ({key(word) for word in tokens(text)} for text in (one, other))
    only_ours, only_theirs = ours - theirs, theirs - ours
    if len(ours & theirs) < ALIKE * min(len(ours), len(theirs)) or not (ours & theirs):
        return False
    if bool(ours & _NOT) != bool(theirs & _NOT):
        return True
    if any({first, second} in _OPPOSITES for first in only_ours for second in only_theirs):
        return True
    return any(_has(only_ours, kind) and _has(only_theirs, kind) for kind in ("number", "date"))


def _has(words: set[str], kind: str) -> bool:
    return any(word.isdigit() if kind == "number" else word in _DATES for word in words)
