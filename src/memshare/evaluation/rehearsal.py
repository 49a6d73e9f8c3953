"""Goes through experiments without a call, and estimates the calls and tokens that each takes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from memshare.evaluation.data import DataItem, Split
from memshare.evaluation.evaluate import conduct, prepare
from memshare.evaluation.folder import Folder, Prepared, read_preparation
from memshare.evaluation.lab import Measured
from memshare.evaluation.queues import PERFECT, AnsweredItem, Change, ExperimentTask, GradedItem, Settled, TaskReply
from memshare.evaluation.request import ExperimentRequest, plan_of, roster_of
from memshare.evaluation.variants import Setup
from memshare_agents.roster import Agent
from memshare_broker.settings import Settings
from memshare_broker.wire.messages import Usage
from memshare_memory.recall.recall import CANDIDATES
from memshare_trainer.percentages import BEGINNING, END

CHARACTERS = 4  # of a token
INSTRUCTED, GRADED, LABELLED = 200, 800, 620  # tokens of a call beside its texts, as `benchmarks.calls` counts them
JUDGEMENT, LABELS = 100, 150  # tokens of the ranges of a grade, and of the labels of a lesson


class Rehearsal:
    """Stands in for the queues. `tasks` counts the tasks that will end, `calls` and `usual` what each model is asked.

    Both are estimates by the texts of the data, where every first reply fits and nothing fails.
    """

    def __init__(self, settings: Settings, agents: Mapping[str, Agent]) -> None:
        self.tasks = 0
        self.calls: Counter[str] = Counter()
        self.usual: defaultdict[str, Usage] = defaultdict(Usage)
        self._agents, self._votes = agents, settings.scorer_votes
        self._scorer, self._trainer = settings.model_for("scorer"), settings.model_for("trainer")

    def ask(self, step: str, tasks: Sequence[ExperimentTask], *, in_order: bool = False) -> list[TaskReply]:  # noqa: ARG002
        for task in tasks:
            agent, graded, text = self._agents[task.item.agent], 1, _tokens(task.item)
            self._use(task.model, INSTRUCTED + (1 + task.k) * text, text)
            if task.engine and agent.engine is not None:
                self._use(task.model, INSTRUCTED + (1 + task.k) * text, text, agent.limits.calls // 2)
                graded += agent.limits.sub_questions if task.remember else 0
            self._use(self._scorer, GRADED + text, JUDGEMENT, graded * self._votes)
            if task.remember:
                self._count_memories(graded, text)
        self.tasks += len(tasks)
        return [TaskReply("", task.item.answer, PERFECT) for task in tasks]

    def questions(self, items: Sequence[DataItem], setup: Setup) -> list[GradedItem]:
        for item in items:
            self._use(setup.model, INSTRUCTED + _tokens(item), _tokens(item))
        return self._graded([f"question {item.id}" for item in items], items)

    def grade(self, pairs: Sequence[AnsweredItem], setup: Setup) -> list[GradedItem]:  # noqa: ARG002
        return self._graded([pair.item.prompt or "" for pair in pairs], [pair.item for pair in pairs])

    def settle(self, step: str, pairs: Sequence[Settled]) -> None:  # noqa: ARG002
        for one in pairs:
            if one.pair.grade is None or one.pair.grade.accepted:
                self._count_memories(1, _tokens(one.pair.item))
        self.tasks += len(pairs)

    def change(self, step: str, change: Change) -> str:  # noqa: ARG002
        return ""

    def judge(self, judge: str, measured: Sequence[Measured]) -> None:
        """Count what a second judge is asked."""
        self.tasks += len(measured)
        for one in measured:
            self._use(judge, GRADED + (len(one.prompt) + len(one.reference)) // CHARACTERS, JUDGEMENT, self._votes)

    def _graded(self, prompts: Sequence[str], items: Sequence[DataItem]) -> list[GradedItem]:
        for item in items:
            self._use(self._scorer, GRADED + _tokens(item), JUDGEMENT, self._votes)
        self.tasks += len(prompts)
        return [GradedItem(prompt, PERFECT.total) for prompt in prompts]

    def _use(self, model: str, prompt: int, completion: int, calls: int = 1) -> None:
        self.calls[model] += calls
        self.usual[model] += Usage(prompt_tokens=calls * prompt, completion_tokens=calls * completion)

    def _count_memories(self, many: int, text: int) -> None:
        """A new memory is a lesson, and the same call compares it with those that it may contradict."""
        self._use(self._trainer, LABELLED + CANDIDATES * min(text, (BEGINNING + END) // CHARACTERS), LABELS, many)


def _tokens(item: DataItem) -> int:
    """Of a question with its answer."""
    return (len(item.prompt or "") + len(item.answer)) // CHARACTERS


def rehearse(requests: Sequence[ExperimentRequest], settings: Settings) -> list[Rehearsal]:
    """Go through the experiments that have not ended, and count. What the first prepares, the others have."""
    rehearsals = []
    known: dict[Split, dict[str, Prepared]] = {}
    for request in requests:
        rehearsal = Rehearsal(settings, roster_of(request, settings))
        rehearsals.append(rehearsal)
        if Folder(request.out / request.experiment.name).result() is not None:
            continue
        if request.split not in known:
            before = read_preparation(request.out, plan_of(request, settings))
            known[request.split] = before or prepare(request, rehearsal)
        lab = conduct(request, rehearsal, settings, known[request.split])
        if request.judge is not None:
            rehearsal.judge(request.judge, lab.measured)
    return rehearsals
