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


class Task(BaseModel):
    """A task whose examples, given by number, are judged."""

    prompt: str
    answer: str
    examples: list[int]
    rivals: list[int] = []


class Lessons(BaseModel):
    """The document of a labelling conversation, as the trainer writes it."""

    texts: dict[int, ShownExample]
    tasks: dict[str, Task]


def label(document: str) -> dict[str, Any]:
    """A percentage per example, 0 where it leads to the very answer, and whether rivals among them contradict it.

    `ValidationError` if the document is another one.
    """
    lessons, labels, rivals = Lessons.model_validate_json(document), dict[str, Any](), []
    for name, task in lessons.tasks.items():
        labels[name] = {str(one): _percent(task, lessons.texts[one]) for one in task.examples}
        rivals += [
            {"task": name, "text": one, **compared(task.answer, lessons.texts[one].answer)} for one in task.rivals
        ]
    return labels | ({"rivals": rivals} if rivals else {})


def _percent(task: Task, example: ShownExample) -> int:
    written = answer([Example(example.prompt or "", example.answer)], task.prompt)
    return round(100 - 50 * (_same_form(written, task.answer) + _same_words(written, task.answer)))


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
