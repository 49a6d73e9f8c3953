"""Makes no call, and counts those that an experiment would make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from memshare.broker.wire.messages import Usage
from memshare.evaluation.data import Item
from memshare.evaluation.queues import Change, Graded, Pair, Reply, Task
from memshare.evaluation.variants import Setup

CHARACTERS_PER_TOKEN, TOKENS_OF_A_RUBRIC, TOKENS_OF_A_GRADE = 4, 1_200, 250  # for the estimate alone


class Rehearsal:
    """Stands in for the queues; it counts the most calls that there may be
    where nothing fails and the trainer labels in one call; the tokens are an estimate."""

    def __init__(self, scorer: str, trainer: str, votes: int) -> None:
        self.calls: Counter[str] = Counter()
        self.tasks = 0
        self._prompt: Counter[str] = Counter()
        self._completion: Counter[str] = Counter()
        self._scorer, self._trainer, self._votes = scorer, trainer, votes

    def usage(self, model: str) -> Usage:
        """About what the calls of a model will take."""
        return Usage(prompt_tokens=self._prompt[model], completion_tokens=self._completion[model])

    def ask(self, step: str, tasks: Sequence[Task], *, in_order: bool = False) -> list[Reply]:  # noqa: ARG002
        for task in tasks:
            length = len(task.item.prompt or "") + len(task.item.answer)
            self._call(task.model, (1 + task.k) * length, len(task.item.answer))
            self._count_grade(length)
            if task.remember and task.learns:
                self._call(self._trainer, 20 * length, 20 * CHARACTERS_PER_TOKEN)
        self.tasks += len(tasks)
        return [Reply("", task.item.answer, 100.0, True) for task in tasks]

    def questions(self, items: Sequence[Item], setup: Setup) -> list[Graded]:
        for item in items:
            self._call(setup.model, len(item.answer), 40 * CHARACTERS_PER_TOKEN)
            self._count_grade(len(item.answer))
        self.tasks += len(items)
        return [Graded(f"question {item.id}", 100.0) for item in items]

    def grade(self, pairs: Sequence[Pair], setup: Setup) -> list[Graded]:  # noqa: ARG002
        for pair in pairs:
            self._count_grade(len(pair.item.prompt or "") + len(pair.answer))
        self.tasks += len(pairs)
        return [Graded(pair.item.prompt or "", 100.0) for pair in pairs]

    def change(self, step: str, change: Change) -> str:  # noqa: ARG002
        return ""

    def _count_grade(self, characters: int) -> None:
        for _ in range(self._votes):
            length = characters + TOKENS_OF_A_RUBRIC * CHARACTERS_PER_TOKEN
            self._call(self._scorer, length, TOKENS_OF_A_GRADE * CHARACTERS_PER_TOKEN)

    def _call(self, model: str, read: int, written: int) -> None:
        self.calls[model] += 1
        self._prompt[model] += read // CHARACTERS_PER_TOKEN
        self._completion[model] += written // CHARACTERS_PER_TOKEN
