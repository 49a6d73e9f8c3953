"""What to evaluate on what, read and checked before anything is begun."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from memshare.agents.roster import Agent, cards, load_roster
from memshare.broker.settings import Settings
from memshare.evaluation.data import FileReport, Split, read_items, split
from memshare.evaluation.experiment import Experiment
from memshare.evaluation.folder import Plan
from memshare.scorer.rubric import find_rubric

BUNDLED = "all-MiniLM-L6-v2"


class Request(NamedTuple):
    """One experiment on one split of the data."""

    experiment: Experiment
    files: Sequence[FileReport]
    split: Split
    models: tuple[str, ...]
    seed: int
    out: Path
    learning: bool = True
    """Whether retrievers learn and credit is given in the experiments that have it so."""
    judge: str | None = None
    """A second model that grades the answers to the test set."""


def read_data(files: Sequence[Path], settings: Settings, seed: int, most: int | None) -> tuple[Split, list[FileReport]]:
    """Read and split the data; raises `BadInput` before anything is begun."""
    known = {card.name: card for card in cards(settings)}
    items, reports = read_items(files, known)
    return split(items, seed, most), reports


def plan_of(request: Request, settings: Settings) -> Plan:
    """What decides the figures of a request."""
    return Plan(
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
    )


def roster_of(request: Request, settings: Settings) -> dict[str, Agent]:
    """The agents whose items the data has."""
    used = sorted({item.agent for item in request.split.all})
    roster = load_roster(settings.agents_dir)
    return {name: roster[name] for name in used}


def _digest(agent: Agent, settings: Settings) -> str:
    rubric = find_rubric(agent.rubric, settings.agents_dir)
    return hashlib.sha256(f"{agent.model_dump_json()} {rubric.version}".encode()).hexdigest()[:12]
