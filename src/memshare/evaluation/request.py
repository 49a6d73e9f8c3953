"""Requests for experiments and their data, read and checked before anything is begun."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from memshare.evaluation.data import FileReport, Split, all_asked, read_items, split
from memshare.evaluation.experiment import TOWN, Experiment
from memshare.evaluation.folder import ExperimentPlan
from memshare_agents.roster import Agent, cards, load_roster
from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings
from memshare_scorer.rubric import find_rubric

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
