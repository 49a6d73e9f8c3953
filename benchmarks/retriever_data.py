"""The memories and tasks of `benchmarks.retriever`, who labels its lessons, and how its retrievers are marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks import forms
from benchmarks.forms import Task
from memshare.broker.wire.lessons import LessonTask
from memshare.broker.wire.messages import Usage
from memshare.memory_service.memory import Memory, memory_id
from memshare.retriever_trainer.labels import Labeller, Labels

LEARNING, UNTOUCHED = "forms", "questions"
"""The pool that lessons come from, and the one that none do."""

SHOWN = 3
MEMORIES, TEST_TASKS = 600, 240


@dataclass(frozen=True, eq=False)
class Exam:
    """A pool's memories in the order in which they come, and tasks on which its retriever is marked."""

    pool: str
    memories: list[Memory]
    tasks: list[Memory]

    @property
    def prompts(self) -> list[str]:
        """Of the tasks."""
        return [task.key for task in self.tasks]

    def p_at_3(self, shown: Sequence[Sequence[Memory]]) -> float:
        """The share of right ones among three memories for every task: those of the task's kind are right."""
        right = [one.kind == task.kind for task, best in zip(self.tasks, shown, strict=True) for one in best[:SHOWN]]
        return round(sum(right) / SHOWN / len(self.tasks), 4)


def exams(seed: int) -> tuple[Exam, Exam]:
    """Of the pool that is learnt from, where the form makes an example right; of the other, where the topic does."""
    remembered, asked = forms.questions(seed)
    return (
        Exam(
            LEARNING,
            [_memory(LEARNING, task, task.form) for task in forms.memories(MEMORIES, seed)],
            [_memory(LEARNING, task, task.form) for task in forms.unseen_tasks(TEST_TASKS, seed + 1_000)],
        ),
        Exam(
            UNTOUCHED,
            [_memory(UNTOUCHED, task, task.topic) for task in remembered],
            [_memory(UNTOUCHED, task, task.topic) for task in asked],
        ),
    )


def _memory(pool: str, task: Task, kind: str) -> Memory:
    identity = memory_id(pool, task.prompt, task.answer)
    return Memory(id=identity, pool=pool, prompt=task.prompt, answer=task.answer, kind=kind, score=90, created=0)


class Oracle(Labeller):
    """Labels by the form, with a share of wrong ones: what a model would say, without its time and its price."""

    def __init__(self, wrong: float, seed: int) -> None:
        self._wrong, self._seed = wrong, seed

    def label(self, task: LessonTask) -> Labels:
        values = (self.contradiction(task.prompt, one.prompt or "") for one in task.candidates)
        return Labels(tuple(values), "json", Usage())

    def contradiction(self, prompt: str, example: str) -> float:
        """P(¬Y) of an example for a prompt, the same whoever asks."""
        task, shown = (Task(forms.form_of(text), "", text, "") for text in (prompt, example))
        return forms.contradiction(task, shown, self._wrong, self._seed)


class Turned(Labeller):
    """Says of synthetic candidates that the half nearest to the task helps, once the task's vector has been turned.

    How it is turned is always the same, so that there is something to learn, and updates are published.
    """

    def __init__(self, dimension: int) -> None:
        self._turn = np.random.default_rng(0).normal(size=(dimension, dimension)) / np.sqrt(dimension)

    def label(self, task: LessonTask) -> Labels:
        candidates = np.array([one.embedding.unpack() for one in task.candidates])
        cosines = candidates @ (self._turn @ task.embedding.unpack())
        return Labels(tuple(np.where(cosines > np.median(cosines), 0.1, 0.9).tolist()), "json", Usage())
