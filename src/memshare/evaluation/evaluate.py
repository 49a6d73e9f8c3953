"""Runs one experiment in a deployment of its own, from its data to its table."""

from __future__ import annotations

import contextlib
import os
import platform
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import fmean

from memshare.client.client import Client
from memshare.evaluation.data import DataItem, Split, same_text
from memshare.evaluation.folder import Folder, Prepared, bill, read_preparation, write_preparation
from memshare.evaluation.judging import Judge, complete
from memshare.evaluation.lab import PEOPLE, Lab, Measured
from memshare.evaluation.queues import AnsweredItem, Queues
from memshare.evaluation.request import ExperimentRequest, plan_of, roster_of
from memshare.evaluation.result import ExperimentResult, markdown, rows_of
from memshare.evaluation.variants import Setup, write_variants
from memshare.operate.supervisor import Supervisor, environment_of, supervised
from memshare_broker.connection import connect
from memshare_broker.errors import MemshareError
from memshare_broker.observe.metrics import METRICS
from memshare_broker.settings import Settings, load_settings

ELSEWHERE = (
    "MEMSHARE_REDIS_URL", "MEMSHARE_QDRANT_URL", "MEMSHARE_MEMORY_URL", "MEMSHARE_ENCODERS", "MEMSHARE_DOCUMENTS",
)  # fmt: skip
KEEP_DAYS = 3650  # an experiment can be gone on with as long as its folder is there


@contextlib.contextmanager
def deployment(
    request: ExperimentRequest, settings: Settings, folder: Path, thresholds: Mapping[str, float]
) -> Iterator[tuple[Client, Supervisor]]:
    """Everything up for as long as the block runs, with the copies of the agents that the experiment needs."""
    folder = folder.absolute()
    write_agents(request, settings, folder, thresholds)
    with environment_for(folder, request, settings):
        own = load_settings()
        with supervised(own) as supervisor, contextlib.closing(Client(own)) as client:
            yield client, supervisor


def write_agents(request: ExperimentRequest, settings: Settings, folder: Path, thresholds: Mapping[str, float]) -> None:
    """Write the copies of the agents; see `write_variants`."""
    setups = [
        Setup(label, model, number)
        for label in request.experiment.labels(len(request.models))
        for number, model in enumerate(request.models)
    ]
    write_variants(folder / "agents", settings.agents_dir, list(roster_of(request, settings)), setups, thresholds)


@contextlib.contextmanager
def environment_for(folder: Path, request: ExperimentRequest, settings: Settings) -> Iterator[None]:
    """The settings that workers find: the user's, but for where things are and for what would blur a comparison."""
    before = dict(os.environ)
    own = environment_of(settings)
    os.environ.clear()
    os.environ.update({name: value for name, value in own.items() if name not in ELSEWHERE})
    os.environ |= {
        "MEMSHARE_DATA": str(folder / "data"),
        "MEMSHARE_EXPORTS": str(settings.exports_dir),
        "MEMSHARE_AGENTS_DIR": str(folder / "agents"),
        "MEMSHARE_MODEL_AGENTS": request.models[0],
        "MEMSHARE_KEEP_DAYS": str(KEEP_DAYS),
        "MEMSHARE_KEEP_TRACES_DAYS": str(KEEP_DAYS),
        "MEMSHARE_SUBMITTER_SHARE": "1",
        "MEMSHARE_QUEUE_LIMIT": "0",
        "MEMSHARE_CONCEPTS": "false",  # no experiment is about them, and each memory would cost one more call
        "MEMSHARE_CONCEPTS_WAIT": "0",  # a memory is compared before the next one comes
        "MEMSHARE_BATCH_API": "false",  # each step waits for the grades of the one before it
        "MEMSHARE_LEARN": str(request.learning).lower(),
    }
    if request.documents:
        os.environ["MEMSHARE_DOCUMENTS"] = request.documents
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


LIBRARIES = ("memshare", "torch", "sentence-transformers", "qdrant-edge-py", "bert-score", "scipy")

Progress = Callable[[str, int], None]
"""Told what is being done, and how many tasks more have ended."""


def evaluate(request: ExperimentRequest, settings: Settings, progress: Progress) -> ExperimentResult:
    """Run the experiment, or go on with it; returns at once what a finished one found.

    Raises `MemshareError` where too much was given up to say anything; the same command then tries that again.
    """
    folder = Folder(request.out / request.experiment.name)
    plan = plan_of(request, settings)
    folder.begin(plan)
    if (found := folder.result()) is not None:
        return found
    started = time.time()
    prepared = read_preparation(request.out, plan)
    with (
        deployment(request, settings, folder.path, thresholds(request, prepared)) as (client, supervisor),
        contextlib.closing(connect(client.settings.redis)) as own,
    ):
        try_again(client)
        real = Queues(client, own, lambda count: progress("Asking", count), supervisor.revive)
        if not prepared:
            prepared = prepare(request, real, client.settings)
            write_preparation(request.out, plan, prepared)
            write_agents(request, settings, folder.path, thresholds(request, prepared))
        lab = conduct(request, real, settings, prepared)
        _require_most_graded(lab)
        if request.judge is not None:
            judge = Judge(request.judge, client.settings, roster_of(request, settings), settings.agents_dir)
            lab.measured = judge.judge(lab.measured, folder.path, lambda count: progress("Judging", count))
        supervisor.stop_workers()  # what they used is counted by then
        paid = {str(name): float(amount) for name, amount in own.hgetall(METRICS).items()}
    progress("Comparing with the standard answers", 0)
    measured = _compared(lab, settings)
    result = _result(request, settings, lab, measured)
    from memshare.evaluation.report import draw  # matplotlib takes a second to import

    draw(result, folder.path)
    folder.write(measured, result, bill(paid, started, settings), markdown(result))
    return result


def prepare(request: ExperimentRequest, queues: Queues, own: Settings) -> dict[str, Prepared]:
    """Ask for the questions that are not there, and grade the standard answers that are the seeds.

    Where an experiment needs more of an item than it has, the first model writes it. `own` are the settings of the
    deployment that runs.

    Raises `MemshareError` where one of them was given up: an experiment on the others would be another one.
    """
    first = Setup(request.experiment.labels(len(request.models))[0], request.models[0], 0)
    written = complete(request.split.all, request.models[0], own, request.experiment.needs)
    asked = [item for item in request.split.all if item.prompt is None and item.id not in written]
    seeds = [item for item in request.split.seeds if item.prompt is not None]
    replies = queues.questions(asked, first)
    grades = queues.grade([AnsweredItem(item, item.answer, None, PEOPLE) for item in seeds], first)
    if failed := [one.error for one in (*replies, *grades) if one.error]:
        raise MemshareError(
            f"{len(failed)} of {len(asked) + len(seeds)} standard answers could not be prepared, such as: {failed[0]} "
            "Mend that and run the same command: it tries these again."
        )
    known = dict(zip((item.id for item in (*asked, *seeds)), (*replies, *grades), strict=True))
    ready = {one.id: Prepared(prompt=one.prompt or "", score=None) for one in request.split.all}
    ready |= {name: Prepared(prompt=one.prompt, score=one.score) for name, one in known.items()}
    return ready | {name: Prepared(prompt=one.prompt or "", score=None, written=one) for name, one in written.items()}


def thresholds(request: ExperimentRequest, prepared: Mapping[str, Prepared]) -> dict[str, float]:
    """The mean score of each agent's seeds, from which its answers are accepted in every condition alike."""
    scores: defaultdict[str, list[float]] = defaultdict(list)
    for item in request.split.seeds:
        if item.id in prepared and (score := prepared[item.id].score) is not None:
            scores[item.agent].append(score)
    return {agent: fmean(some) for agent, some in scores.items()}


def conduct(request: ExperimentRequest, queues: Queues, settings: Settings, prepared: Mapping[str, Prepared]) -> Lab:
    """Do the experiment on the items with their questions; those that were given the same question are dropped."""
    asked: set[str] = set()
    parts: list[tuple[DataItem, ...]] = []
    for part in (request.split.test, request.split.queries, request.split.seeds):
        fresh = []
        for item in part:
            ready = prepared[item.id]
            if same_text(ready.prompt) not in asked:
                fresh.append((ready.written or item).model_copy(update={"prompt": ready.prompt}))
                asked.add(same_text(ready.prompt))
        parts.append(tuple(fresh))
    whole = Split(seeds=parts[2], queries=parts[1], test=parts[0])
    scores = {name: one.score for name, one in prepared.items() if one.score is not None}
    learning = request.learning and request.experiment.learns
    roster = roster_of(request, settings)
    documents = [Path(place) for place in (request.documents or "").split(os.pathsep) if place]
    lab = Lab(queues, whole, scores, roster, request.models, learning=learning, documents=documents)
    request.experiment.run(lab)
    if learning:
        lab.notes += no_version(lab)
    return lab


def no_version(lab: Lab) -> list[str]:
    """A note for each model whose memories were all found without any version of a retriever."""
    with_memories = [one for one in lab.measured if one.shown]
    alone = [
        model for model in lab.models if not any(one.retriever_version for one in with_memories if one.model == model)
    ]
    return [
        f"{model}: no version of a retriever came about, so all memories were found by the encoder alone (version 0). "
        "It takes lessons in which some examples help and others mislead, of which one in ten is held out."
        for model in alone
    ]


def try_again(client: Client) -> None:
    """Put back what was given up in a run before, such as for a key that was wrong."""
    for letter in client.dead_letters.all():
        if letter.retriable:
            client.dead_letters.retry(client.app, letter)


def _require_most_graded(lab: Lab) -> None:
    failed = [one.error for one in lab.measured if one.error]
    if not failed:
        return
    said = f"{len(failed)} of {len(lab.measured)} tasks were given up and count 0, such as: {failed[0]}"
    if len(failed) > len(lab.measured) / 2:
        raise MemshareError(f"{said} Mend that and run the same command: it tries these again.")
    lab.notes.append(said)


def _compared(lab: Lab, settings: Settings) -> list[Measured]:
    # torch and transformers take seconds to import.
    from memshare.evaluation.judging import f1_scores
    from memshare_memory.encoders.encoder import bundled_folder

    # What is not verified or was given up says nothing, which is like nothing.
    pairs = list(dict.fromkeys((_said(one), one.reference) for one in lab.measured))
    answers, references = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    found = f1_scores(answers, references, reader_of(settings) or bundled_folder(), settings.device)
    by_pair = dict(zip(pairs, found, strict=True))
    unread = {one.kind or one.agent for one in lab.measured if by_pair[_said(one), one.reference] is None}
    if unread:
        lab.notes.append(f"No BERTScore where the encoder does not know the words: {', '.join(sorted(unread))}.")
    return [one.model_copy(update={"f1": by_pair[_said(one), one.reference]}) for one in lab.measured]


def _said(one: Measured) -> str:
    return "" if one.score is None else one.answer


def reader_of(settings: Settings) -> str | None:
    """The encoder whose token vectors compare answers; None for the bundled one, also where OpenAI's has no tokens."""
    return None if (settings.encoder or "openai:").startswith("openai:") else settings.encoder


def _result(
    request: ExperimentRequest,
    settings: Settings,
    lab: Lab,
    measured: Sequence[Measured],
) -> ExperimentResult:
    experiment, plan = request.experiment, plan_of(request, settings)
    return ExperimentResult(
        experiment=experiment.name,
        title=experiment.title,
        question=experiment.question,
        method=experiment.method,
        notes=tuple(lab.notes),
        baseline=experiment.baseline,
        by_phase=experiment.by_phase,
        models=request.models,
        scorer=plan.scorer,
        graded_by=tuple(sorted({one.graded_by for one in measured if one.graded_by})),
        judge=request.judge,
        learning=(request.learning and experiment.learns) or experiment.name == "retriever",
        data=tuple(request.files),
        same_question=len(request.split.all) - len(lab.split.all),
        parts={name: len(getattr(lab.split, name)) for name in Split._fields},
        seed=request.seed,
        settings={
            "agents": ", ".join(request.models),
            "scorer": plan.scorer,
            "second judge": request.judge or "none",
            "trainer": plan.trainer,
            "votes": str(plan.votes),
            "encoder": plan.encoder,
            "BERTScore by": f"the last layer of {plan.encoder}"
            if not plan.encoder.startswith("openai:")
            else "bundled",
        },
        versions={"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}},
        rows=rows_of(measured, experiment.baseline, with_judge=request.judge is not None),
    )
