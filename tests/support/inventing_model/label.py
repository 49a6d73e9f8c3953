"""Labels examples by what the inventing model itself would write after each: how far it is from the known answer."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pydantic import BaseModel

from tests.support.inventing_model.answer import Example, answer
from tests.support.inventing_model.contradict import compared
from tests.support.inventing_model.words import key, tokens


class ShownExample(BaseModel):
    """An example; its prompt is absent where only the answer is known."""

    prompt: str | None
    answer: str


class Lesson(BaseModel):
    """The task of a labelling conversation, as the trainer writes it."""

    prompt: str
    answer: str
    examples: dict[str, ShownExample]
    rivals: dict[str, str] = {}


def label(task: str) -> dict[str, Any]:
    """A percentage per example, 0 where it leads to the very answer, and whether rivals among them contradict it.

    `ValidationError` if `task` is another one.
    """
    lesson, labels = Lesson.model_validate_json(task), dict[str, Any]()
    for name, example in lesson.examples.items():
        written = answer([Example(example.prompt or "", example.answer)], lesson.prompt)
        likeness = (_same_form(written, lesson.answer) + _same_words(written, lesson.answer)) / 2
        labels[name] = round(100 * (1 - likeness))
    rivals = {name: compared(lesson.answer, lesson.examples[one].answer) for name, one in lesson.rivals.items()}
    return labels | rivals


def _same_form(one: str, other: str) -> float:
    """How near two texts are in their number of lines and in words per line, from 0 to 1."""
    lines, others = ([len(words) for line in text.split("\n") if (words := tokens(line))] for text in (one, other))
    if not lines or not others:
        return 0.0
    return _ratio(len(lines), len(others)) * _ratio(sum(lines) / len(lines), sum(others) / len(others))


def _same_words(one: str, other: str) -> float:
    """The words that two texts share, each as often as both have it, out of the words of both (Dice)."""
    ours, theirs = (Counter(map(key, tokens(text))) for text in (one, other))
    return 2 * (ours & theirs).total() / ((ours + theirs).total() or 1)


def _ratio(one: float, other: float) -> float:
    return min(one, other) / max(one, other)
