"""Forecast of the cost of experiments, before they begin: how often each part is asked, times the cost of its items."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from memshare.evaluation.data import DataItem, Split, lacks
from memshare.evaluation.experiment import Times
from memshare.evaluation.folder import Folder, read_preparation
from memshare.evaluation.lab import SHOWN
from memshare.evaluation.request import ExperimentRequest, plan_of, roster_of
from memshare_agents.roster import Agent
from memshare_broker.settings import Settings
from memshare_broker.wire.messages import Usage
from memshare_memory.recall.recall import CANDIDATES
from memshare_trainer.lesson_log import FIRST_VERSION
from memshare_trainer.percentages import BEGINNING, END

CHARACTERS = 4  # of a token
INSTRUCTED, GRADED, LABELLED = 200, 800, 620  # tokens of a call beside its texts, as `benchmarks.calls` counts them
JUDGEMENT, LABELS = 100, 150  # tokens of the ranges of a grade, and of the labels of a lesson


class Forecast(NamedTuple):
    """The tasks that will end, and the calls and tokens of each model: about, where nothing fails.

    `lessons` is how many the retriever of a pool gets at most, by the names of the agents that share the pool.
    """

    tasks: int
    calls: dict[str, int]
    usual: dict[str, Usage]
    lessons: Mapping[str, int]

    @property
    def too_small(self) -> str | None:
        """A sentence about the pools whose retrievers cannot have a version; None where all can."""
        few = [f"{pool} ({many})" for pool, many in self.lessons.items() if many < FIRST_VERSION]
        if not few:
            return None
        return (
            f"too small for a retriever that learns. There is no version before {FIRST_VERSION} lessons of a pool, so "
            f"the encoder alone finds the memories in pools with fewer, of {', '.join(few)}."
        )


def forecasts(requests: Sequence[ExperimentRequest], settings: Settings) -> list[Forecast]:
    """The forecast of each request; zero where it has ended. Items prepared for the first also serve the others."""
    found, prepared = [], set[Split]()
    for request in requests:
        if Folder(request.out / request.experiment.name).result() is not None:
            found.append(Forecast(0, {}, {}, {}))
            continue
        is_prepared = request.split in prepared or bool(read_preparation(request.out, plan_of(request, settings)))
        found.append(_forecast(request, settings, is_prepared=is_prepared))
        prepared.add(request.split)
    return found


def _forecast(request: ExperimentRequest, settings: Settings, *, is_prepared: bool) -> Forecast:
    wanted, parts = request.experiment, request.split
    calls, usual = Counter[str](), defaultdict[str, Usage](Usage)

    def use(model: str, prompt: int, completion: int, times: int) -> None:
        calls[model] += times
        usual[model] += Usage(prompt_tokens=times * prompt, completion_tokens=times * completion)

    text = round(fmean(map(_tokens, parts.all)))
    written = [item for item in parts.all if lacks(item, wanted.needs) and not is_prepared]
    asked = [item for item in parts.all if item.prompt is None and item not in written and not is_prepared]
    seeds = [item for item in parts.seeds if item.prompt is not None and not is_prepared]
    answers, settled, remembered = (times.of(parts) for times in (wanted.asked, wanted.settled, wanted.remembered))
    if not request.learning and wanted.learns:
        settled = remembered = 0
    agents = roster_of(request, settings)
    limits = [agents[item.agent].limits if agents[item.agent].engine else None for item in parts.all]
    steps = fmean(one.calls // 2 if one else 0 for one in limits)  # calls of the engine beside the answer
    graded_parts = fmean(one.sub_questions if one else 0 for one in limits)
    use(request.models[0], INSTRUCTED + text, text, len(asked))
    use(request.models[0], INSTRUCTED + 2 * text, 3 * text, len(written))
    for model in request.models:
        use(model, INSTRUCTED + (1 + SHOWN) * text, text, round(answers * (1 + steps)))
    of_all, more = len(request.models), round(remembered * graded_parts)
    graded = of_all * (answers + more) + len(asked) + len(seeds)
    use(settings.model_for("scorer"), GRADED + text, JUDGEMENT, graded * settings.scorer_votes)
    lesson = LABELLED + CANDIDATES * min(text, (BEGINNING + END) // CHARACTERS)
    use(settings.model_for("trainer"), lesson, LABELS, of_all * (settled + remembered + more))
    tasks = of_all * (answers + settled) + len(asked) + len(seeds)
    if request.judge is not None:
        judged = of_all * round(wanted.asked.test * len(parts.test))
        use(request.judge, GRADED + text, JUDGEMENT, judged * settings.scorer_votes)
        tasks += judged
    found = {model: many for model, many in calls.items() if many}
    return Forecast(tasks, found, dict(usual), _lessons(request, agents))


def _lessons(request: ExperimentRequest, agents: Mapping[str, Agent]) -> dict[str, int]:
    """Lessons of each pool, at most, as if each item became one; of the first model, as all models have the same."""
    wanted, found = request.experiment, dict[str, int]()
    if not request.learning or wanted.lessons == Times():
        return found
    for label in wanted.labels(len(request.models)):
        sharing = defaultdict[str, list[str]](list)
        for name, agent in agents.items():
            sharing[label.pool(agent.pool, 0)].append(name)
        for names in sharing.values():
            parts = Split(*(tuple(item for item in part if item.agent in names) for part in request.split))
            found[" and ".join(names)] = wanted.lessons.of(parts)
    return found


def _tokens(item: DataItem) -> int:
    """Of a question with its answer."""
    return (len(item.prompt or "") + len(item.answer)) // CHARACTERS
