"""Requests for experiments and their data, read and checked before anything is begun."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from memshare.evaluation.data import DataItem, FileReport, Split, all_asked, lacks, read_items, split
from memshare.evaluation.experiment import TOWN, Experiment, Times
from memshare.evaluation.folder import ExperimentPlan, Folder, read_preparation
from memshare.evaluation.lab import SHOWN
from memshare_agents.roster import Agent, cards, load_roster
from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings
from memshare_broker.wire.messages import Usage
from memshare_memory.recall.recall import CANDIDATES
from memshare_scorer.rubric import find_rubric
from memshare_trainer.lesson_log import FIRST_VERSION
from memshare_trainer.percentages import BEGINNING, END

BUNDLED = "all-MiniLM-L6-v2"


class ExperimentRequest(NamedTuple):
    """An experiment on one split of the data."""

    experiment: Experiment
    files: Sequence[FileReport]
    split: Split
    models: tuple[str, ...]
    seed: int
    out: Path
    learning: bool = True
    """True if retrievers learn and credit is given in the experiments that provide for it."""
    documents: str | None = None
    """Documents that agents may read, as in MEMSHARE_DOCUMENTS."""
    judge: str | None = None
    """A second model that grades the answers to the test set."""


def request_of(
    experiment: Experiment,
    files: Sequence[Path],
    settings: Settings,
    seed: int,
    most: int | None,
    agent: str | None = None,
    kind: str | None = None,
    *,
    shared: bool = False,
    **more: Any,
) -> ExperimentRequest:
    """An experiment on these files, or on what comes with it; raises `BadInput` before anything is begun.

    `agent` and `kind` stand in where a line of the files names none. Where other experiments have `shared` the files,
    one that comes with data takes the lines that are for it, and its own data where none is.
    """
    known = {card.name: card for card in cards(settings)}
    bundled, documents = experiment.bundled, None
    if bundled is None and not files:
        raise BadInput(f"The experiment {experiment.name!r} takes data: give its files with --data.")
    takes = bundled.takes if bundled is not None and shared else lambda _: True
    items, reports = read_items(files, known, agent, kind, takes)
    own = bundled is not None and not items and (shared or not files)
    if bundled is not None and own:
        items, reports = read_items([TOWN / bundled.questions], known)
    if not items:
        raise BadInput("The files have no line: nothing to evaluate on.")
    parts = split(items, seed, most) if bundled is None or bundled.split else all_asked(items, bundled.needs, most)
    if bundled is not None and bundled.documents:
        documents = str(TOWN / "documents") if own else settings.documents
    return ExperimentRequest(experiment, reports, parts, seed=seed, documents=documents, **more)


def plan_of(request: ExperimentRequest, settings: Settings) -> ExperimentPlan:
    """The plan of a request: everything that decides its figures."""
    return ExperimentPlan(
        experiment=request.experiment.name,
        items=tuple(item.id for item in request.split.all),
        models=request.models,
        scorer=settings.model_for("scorer"),
        trainer=settings.model_for("trainer"),
        votes=settings.scorer_votes,
        encoder=settings.encoder or BUNDLED,
        agents={name: _digest(agent, settings) for name, agent in roster_of(request, settings).items()},
        version=version("memshare"),
        seed=request.seed,
        learning=request.learning,
        judge=request.judge,
        documents=request.documents and request.documents.removeprefix(f"{TOWN}/"),
    )


def roster_of(request: ExperimentRequest, settings: Settings) -> dict[str, Agent]:
    """The agents whose items the data has."""
    used = sorted({item.agent for item in request.split.all})
    roster = load_roster(settings.agents_dir)
    return {name: roster[name] for name in used}


def _digest(agent: Agent, settings: Settings) -> str:
    rubric = find_rubric(agent.rubric, settings.agents_dir)
    return hashlib.sha256(f"{agent.model_dump_json()} {rubric.version}".encode()).hexdigest()[:12]


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
