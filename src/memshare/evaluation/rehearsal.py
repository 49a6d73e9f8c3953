"""Goes through experiments without a call: counts the most calls that each can take, and estimates their tokens.

A question that wants a reply of a certain form is asked twice where the first reply does not fit, and a message that
fails is tried again. Not counted is what a killed worker was doing, which is asked for again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from memshare.evaluation.data import Item, Split
from memshare.evaluation.evaluate import conduct, prepare
from memshare.evaluation.folder import Folder, Prepared, read_preparation
from memshare.evaluation.lab import Measured
from memshare.evaluation.queues import Change, Graded, Pair, Reply, Settled, Task
from memshare.evaluation.request import Request, plan_of, roster_of
from memshare.evaluation.variants import Setup
from memshare_agents.roster import Agent
from memshare_broker.settings import Settings
from memshare_broker.wire.grades import Score
from memshare_broker.wire.messages import Usage
from memshare_llm.structured import MOST_CALLS
from memshare_memory.recall.recall import CANDIDATES
from memshare_trainer.labels import BEGINNING, END

PERFECT = Score(
    total=100, threshold=0, accepted=True, criteria={}, rubric="", rubric_version="", model="", usage=Usage()
)


CHARACTERS = 4  # of a token
INSTRUCTED, GRADED, LABELLED = 200, 900, 700  # tokens of a call beside its texts, as `benchmarks.calls` counts them
JUDGEMENT = 100  # tokens of the ranges of a grade, or of labels


class Rehearsal:
    """Stands in for the queues. `most` is an upper bound of the calls of each model, `tasks` how many will end.

    `usual` estimates the tokens of each model, where every first reply fits, by the texts of the data.
    """

    def __init__(self, settings: Settings, agents: Mapping[str, Agent]) -> None:
        self.tasks = 0
        self.most: Counter[str] = Counter()
        self.usual: defaultdict[str, Usage] = defaultdict(Usage)
        self._tries, self._agents = settings.tries, agents
        self._scorer, self._trainer = settings.model_for("scorer"), settings.model_for("trainer")
        self._asked = MOST_CALLS * settings.tries  # for a reply of a certain form
        self._grade = self._asked * settings.scorer_votes
        # With log-probabilities a call for each candidate, and where these are of no use one for all.
        first_tokens = 2 * CANDIDATES * settings.tries if settings.labels == "logprobs" else 0
        self._lesson = first_tokens + self._asked

    def ask(self, step: str, tasks: Sequence[Task], *, in_order: bool = False) -> list[Reply]:  # noqa: ARG002
        for task in tasks:
            agent, graded, text = self._agents[task.item.agent], 1, _tokens(task.item)
            self._use(task.model, INSTRUCTED + (1 + task.k) * text, text)
            if task.engine and agent.engine is not None:
                models = " or ".join(dict.fromkeys((task.model, *agent.models.values())))
                self._use(task.model, INSTRUCTED + (1 + task.k) * text, text, agent.limits.calls // 2)
                self.most[models] += agent.limits.calls * self._tries
                graded += agent.limits.sub_questions if task.remember else 0
            else:
                self.most[task.model] += self._tries
            self.most[self._scorer] += graded * self._grade
            self._use(self._scorer, GRADED + text, JUDGEMENT, graded)
            if task.remember:
                self._count_memories(graded, text)
        self.tasks += len(tasks)
        return [Reply("", task.item.answer, PERFECT) for task in tasks]

    def questions(self, items: Sequence[Item], setup: Setup) -> list[Graded]:
        self.most[setup.model] += len(items) * self._asked
        for item in items:
            self._use(setup.model, INSTRUCTED + _tokens(item), _tokens(item))
        return self._graded([f"question {item.id}" for item in items], items)

    def grade(self, pairs: Sequence[Pair], setup: Setup) -> list[Graded]:  # noqa: ARG002
        return self._graded([pair.item.prompt or "" for pair in pairs], [pair.item for pair in pairs])

    def settle(self, step: str, pairs: Sequence[Settled]) -> None:  # noqa: ARG002
        for one in pairs:
            if one.pair.grade is None or one.pair.grade.accepted:
                self._count_memories(1, _tokens(one.pair.item))
        self.tasks += len(pairs)

    def change(self, step: str, change: Change) -> str:  # noqa: ARG002
        self.most[self._scorer] += change.writes * self._asked
        return ""

    def judge(self, judge: str, measured: Sequence[Measured]) -> None:
        """Count what a second judge is asked."""
        self.most[judge] += len(measured) * self._grade
        self.tasks += len(measured)
        for one in measured:
            self._use(judge, GRADED + (len(one.prompt) + len(one.reference)) // CHARACTERS, JUDGEMENT)

    def _graded(self, prompts: Sequence[str], items: Sequence[Item]) -> list[Graded]:
        self.most[self._scorer] += len(prompts) * self._grade
        for item in items:
            self._use(self._scorer, GRADED + _tokens(item), JUDGEMENT)
        self.tasks += len(prompts)
        return [Graded(prompt, PERFECT.total) for prompt in prompts]

    def _use(self, model: str, prompt: int, completion: int, calls: int = 1) -> None:
        self.usual[model] += Usage(prompt_tokens=calls * prompt, completion_tokens=calls * completion)

    def _count_memories(self, many: int, text: int) -> None:
        """A new memory is a lesson, and may be compared with those that it may contradict."""
        self._use(self._trainer, LABELLED + CANDIDATES * min(text, (BEGINNING + END) // CHARACTERS), JUDGEMENT, many)
        self.most[self._trainer] += many * self._lesson
        self.most[self._scorer] += many * self._asked


def _tokens(item: Item) -> int:
    """Of a question with its answer."""
    return (len(item.prompt or "") + len(item.answer)) // CHARACTERS


def rehearse(requests: Sequence[Request], settings: Settings) -> list[Rehearsal]:
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
