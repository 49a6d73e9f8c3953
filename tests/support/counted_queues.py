"""Queues of an experiment that answer at once with the standard answers, and count what they are asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import cast

from memshare.client.client import Client
from memshare.evaluation.data import DataItem
from memshare.evaluation.queues import (
    PERFECT,
    AnsweredItem,
    Change,
    ExperimentTask,
    GradedItem,
    Queues,
    Settled,
    TaskReply,
)
from memshare.evaluation.variants import Setup


class CountedQueues(Queues):
    """`answers` by model, `prepared` standard answers, `settled` pairs (also by pool), and remembered tasks."""

    def __init__(self) -> None:
        super().__init__(cast(Client, None), cast(None, None), lambda _: None, lambda: None)  # type: ignore[arg-type]
        self.answers: Counter[str] = Counter()
        self.prepared, self.settled, self.remembered = 0, 0, 0
        self.settled_in: Counter[str] = Counter()

    def ask(self, step: str, tasks: Sequence[ExperimentTask], *, in_order: bool = False) -> list[TaskReply]:  # noqa: ARG002
        self.answers.update(task.model for task in tasks)
        self.remembered += sum(task.remember for task in tasks)
        return [TaskReply("", task.item.answer, PERFECT) for task in tasks]

    def questions(self, items: Sequence[DataItem], setup: Setup) -> list[GradedItem]:  # noqa: ARG002
        self.prepared += len(items)
        return [GradedItem(f"question {item.id}", PERFECT.total) for item in items]

    def grade(self, pairs: Sequence[AnsweredItem], setup: Setup) -> list[GradedItem]:  # noqa: ARG002
        self.prepared += len(pairs)
        return [GradedItem(pair.item.prompt or "", PERFECT.total) for pair in pairs]

    def settle(self, step: str, pairs: Sequence[Settled]) -> None:  # noqa: ARG002
        self.settled += len(pairs)
        self.settled_in.update(pair.pool for pair in pairs)

    def change(self, step: str, change: Change) -> str:  # noqa: ARG002
        return ""
