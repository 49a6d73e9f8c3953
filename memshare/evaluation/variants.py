"""The agents of an experiment: copies of the roster's, as files, each with its own model, pool and threshold."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import tomlkit

from agents.roster import Agent, load_roster
from scorer.rubric import MEAN_OF_SEEDS, SUFFIX, find_rubric

NOTHING_PASSES = 100.0  # a threshold that only a perfect answer reaches


class Label(NamedTuple):
    """A kind of copy: `pool` gives a copy's pool from its agent's and the number of its model."""

    name: str
    pool: Callable[[str, int], str]
    threshold: float | Literal["mean-of-seeds"] = MEAN_OF_SEEDS
    """From which an answer is accepted. The paper's own is the mean score of the pairs that a pool begins with."""


class Setup(NamedTuple):
    """The copies of all agents that one model and one label have."""

    label: Label
    model: str
    number: int

    def agent(self, base: str) -> str:
        return f"{base}-{self.label.name}-{self.number}"

    def pool(self, base: Agent) -> str:
        return self.label.pool(base.pool, self.number)


def write_variants(folder: Path, own: Path | None, agents: Sequence[str], setups: Sequence[Setup]) -> None:
    """Fill a folder for MEMSHARE_AGENTS_DIR: the user's own files, and a copy of each agent for each setup."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in own.glob("*.toml") if own else ():
        shutil.copyfile(file, folder / file.name)
    roster = load_roster(own)
    for base in agents:
        for setup in setups:
            _write(folder, own, roster[base], setup)


def _write(folder: Path, own: Path | None, agent: Agent, setup: Setup) -> None:
    rubric = f"{agent.rubric}-{setup.label.name}"
    graded_by = find_rubric(agent.rubric, own).model_copy(update={"threshold": setup.label.threshold})
    text = tomlkit.dumps(graded_by.model_dump(mode="json", exclude={"name"}, exclude_none=True))
    (folder / f"{rubric}{SUFFIX}").write_text(text, encoding="utf-8")
    copy = agent.model_copy(update={"rubric": rubric, "model": setup.model, "pool": setup.pool(agent)})
    text = tomlkit.dumps(copy.model_dump(mode="json", exclude={"name"}, exclude_none=True, exclude_unset=True))
    (folder / f"{setup.agent(agent.name)}.toml").write_text(text, encoding="utf-8")
