"""Makes no call, and counts those that an experiment would make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from memshare.evaluation.data import Item
from memshare.evaluation.most_calls import ENGINE_CALLS, MostCalls
from memshare.evaluation.queues import Change, Graded, Pair, Reply, Settled, Task
from memshare.evaluation.variants import Setup
from memshare_agents.roster import Agent
from memshare_broker.settings import Settings
from memshare_broker.wire.grades import Score
from memshare_broker.wire.messages import Usage

CHARACTERS_PER_TOKEN, TOKENS_OF_A_RUBRIC, TOKENS_OF_A_GRADE = 4, 1_200, 250  # for the estimate alone
TOKENS_OF_A_STEP = 1_500


class Rehearsal:
    """Stands in for the queues. `most` is an upper bound of the calls; `calls` are those of a run in which every reply
    fits, nothing fails and nothing is near enough to be compared; the tokens are an estimate of that run's."""

    def __init__(self, settings: Settings, agents: Mapping[str, Agent]) -> None:
        self.calls: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.tasks = 0
        self._prompt: Counter[str] = Counter()
        self._completion: Counter[str] = Counter()
        self._scorer, self._trainer = settings.model_for("scorer"), settings.model_for("trainer")
        self._votes = settings.scorer_votes
        self._bound = MostCalls(settings, agents)
        self._agents = agents

    def usage(self, model: str) -> Usage:
        """About what the calls of a model will take."""
        return Usage(prompt_tokens=self._prompt[model], completion_tokens=self._completion[model])

    def ask(self, step: str, tasks: Sequence[Task], *, in_order: bool = False) -> list[Reply]:  # noqa: ARG002
        for task in tasks:
            length = len(task.item.prompt or "") + len(task.item.answer)
            if self._bound.has_engine(task):
                read = TOKENS_OF_A_STEP * CHARACTERS_PER_TOKEN
                self._count(task.model, self._models_of(task), self._bound.answer(task), ENGINE_CALLS, read, length)
            else:
                read = (1 + task.k) * length
                self._count(task.model, task.model, self._bound.answer(task), 1, read, len(task.item.answer))
            self._count_grade(length)
            if task.remember:
                self._count_memory(length)
                for _ in range(self._bound.sub_questions(task)):
                    self._count(self._scorer, self._scorer, self._bound.grade + self._bound.comparison, 0, 0, 0)
                    self._count(self._trainer, self._trainer, self._bound.lesson, 0, 0, 0)
        self.tasks += len(tasks)
        return [Reply("", task.item.answer, _perfect()) for task in tasks]

    def questions(self, items: Sequence[Item], setup: Setup) -> list[Graded]:
        for item in items:
            length = len(item.answer)
            self._count(setup.model, setup.model, self._bound.question, 1, length, 40 * CHARACTERS_PER_TOKEN)
            self._count_grade(length)
        self.tasks += len(items)
        return [Graded(f"question {item.id}", 100.0) for item in items]

    def grade(self, pairs: Sequence[Pair], setup: Setup) -> list[Graded]:  # noqa: ARG002
        for pair in pairs:
            self._count_grade(len(pair.item.prompt or "") + len(pair.answer))
        self.tasks += len(pairs)
        return [Graded(pair.item.prompt or "", 100.0) for pair in pairs]

    def settle(self, step: str, pairs: Sequence[Settled]) -> None:  # noqa: ARG002
        for one in pairs:
            if one.pair.grade is None or one.pair.grade.accepted:
                self._count_memory(len(one.pair.item.prompt or "") + len(one.pair.answer))
        self.tasks += len(pairs)

    def change(self, step: str, change: Change) -> str:  # noqa: ARG002
        for _ in range(change.writes):
            self._count(self._scorer, self._scorer, self._bound.comparison, 0, 0, 0)
        return ""

    def judge(self, judge: str, items: Sequence[tuple[str, str]]) -> None:
        """Count what a second judge is asked, of prompts and answers."""
        for prompt, answer in items:
            self._count_grade(len(prompt) + len(answer), judge)
        self.tasks += len(items)

    def _models_of(self, task: Task) -> str:
        """Whoever may be asked in a run of the engine, whose steps may have models of their own."""
        return " or ".join(dict.fromkeys((task.model, *self._agents[task.item.agent].models.values())))

    def _count_grade(self, characters: int, scorer: str | None = None) -> None:
        length, model = characters + TOKENS_OF_A_RUBRIC * CHARACTERS_PER_TOKEN, scorer or self._scorer
        written = TOKENS_OF_A_GRADE * CHARACTERS_PER_TOKEN
        self._count(model, model, self._bound.grade, self._votes, length, written)

    def _count_memory(self, characters: int) -> None:
        """A new memory is a lesson, and may be compared with those that it may contradict."""
        written = 20 * CHARACTERS_PER_TOKEN
        self._count(self._trainer, self._trainer, self._bound.lesson, 1, 20 * characters, written)
        self._count(self._scorer, self._scorer, self._bound.comparison, 0, 0, 0)

    def _count(self, model: str, asked: str, most: int, calls: int, read: int, written: int) -> None:
        """Some calls of a model, of which each reads and writes so many characters."""
        self.most[asked] += most
        self.calls[model] += calls
        self._prompt[model] += calls * read // CHARACTERS_PER_TOKEN
        self._completion[model] += calls * written // CHARACTERS_PER_TOKEN


def _perfect() -> Score:
    return Score(
        total=100, threshold=0, accepted=True, criteria={}, rubric="", rubric_version="", model="", usage=Usage()
    )
