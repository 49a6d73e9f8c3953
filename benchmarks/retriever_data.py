"""The memories and tasks of `benchmarks.retriever`, who labels its lessons, and how its retrievers are marked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import BaseModel

from benchmarks import forms
from benchmarks.forms import Task
from benchmarks.retriever_budget import Bill
from memshare.broker.wire.lessons import LessonTask
from memshare.broker.wire.messages import Turn, Usage
from memshare.llm.chat import FirstToken, NoLogprobs, Reply
from memshare.memory_service.memory import Memory, memory_id
from memshare.retriever_trainer.labels import Labeller, Labels

LEARNING, UNTOUCHED = "forms", "questions"
"""The pool that lessons come from, and the one that none do."""

SHOWN = 3
MEMORIES, TEST_TASKS = 600, 240
BILLED = 1_000  # memories for which it is counted what they take: those, and others on the same topics


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


def more_memories(seed: int) -> list[Memory]:
    """Memories that come once the exam is over, in other words than those before them."""
    tasks = forms.memories(BILLED - MEMORIES, seed + 2_000)
    there = {task.prompt for task in forms.memories(MEMORIES, seed)}
    return [_memory(LEARNING, task, task.form) for task in tasks if task.prompt not in there]


def _memory(pool: str, task: Task, kind: str) -> Memory:
    identity = memory_id(pool, task.prompt, task.answer)
    return Memory(id=identity, pool=pool, prompt=task.prompt, answer=task.answer, kind=kind, score=90, created=0)


class Oracle:
    """A chat model that labels by the form, with a share of wrong ones; it is asked as the trainer asks any model.

    `bill` is told of each call.
    """

    name = "oracle"

    def __init__(self, wrong: float, seed: int, bill: Bill | None = None) -> None:
        self._wrong, self._seed, self._bill = wrong, seed, bill

    def reply(self, turns: Sequence[Turn], schema: type[BaseModel] | None = None) -> Reply:  # noqa: ARG002
        """The percentages of a lesson's examples."""
        if self._bill:
            self._bill.called("learn", turns)
        lesson = json.loads(turns[-1].content)
        percentages = {
            name: round(100 * self.contradiction(lesson["prompt"], example["prompt"]))
            for name, example in lesson["examples"].items()
        }
        return Reply(text=json.dumps(percentages), model=self.name, usage=Usage())

    def first_token(self, turns: Sequence[Turn]) -> FirstToken:  # noqa: ARG002
        """It gives no log-probabilities."""
        raise NoLogprobs("The oracle gives no log-probabilities.")

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
