"""The agents of an experiment: copies of the roster's, as files, each with its own model, pool and threshold."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import tomlkit

from memshare.files.new_file import new_file
from memshare_agents.roster import OF_ENGINE, Agent, load_roster
from memshare_scorer.rubric import SUFFIX, WITHOUT_SEEDS, find_rubric

NOTHING_PASSES = 100.0  # a threshold that only a perfect answer reaches


class Label(NamedTuple):
    """A kind of copy: `pool` gives a copy's pool from its agent's and the number of its model."""

    name: str
    pool: Callable[[str, int], str]
    threshold: float | None = None
    """From which an answer is accepted; None: from the mean score of its agent's seeds, as in the paper."""
    one_call: bool = False
    """True if an agent that has an engine answers without it, by one call of its model."""
    rubric: str | None = None
    """By which answers are graded; None: by the agent's own."""


class Setup(NamedTuple):
    """The copies of all agents that one model and one label have."""

    label: Label
    model: str
    number: int

    def agent(self, base: str) -> str:
        return f"{base}-{self.label.name}-{self.number}"

    def pool(self, base: Agent) -> str:
        return self.label.pool(base.pool, self.number)


def write_variants(
    folder: Path, own: Path | None, agents: Sequence[str], setups: Sequence[Setup], thresholds: Mapping[str, float]
) -> None:
    """Fill a folder for MEMSHARE_AGENTS_DIR: the user's own files, and a copy of each agent for each setup.

    What is no TOML there is linked, as checks need it.

    All copies of an agent but those with a threshold of their own have the one in `thresholds`; a worker that runs
    already goes by it from its next task on.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for file in own.iterdir() if own else ():
        if file.suffix == ".toml":
            shutil.copyfile(file, folder / file.name)
        elif not (beside := folder / file.name).is_symlink():
            beside.symlink_to(file.absolute())  # a check's modules and data, which may be large
    roster = load_roster(own)
    for base in agents:
        for setup in setups:
            threshold = thresholds.get(base, WITHOUT_SEEDS) if setup.label.threshold is None else setup.label.threshold
            _write(folder, own, roster[base], setup, threshold)


def _without_engine(agent: Agent) -> Agent:
    return Agent.model_validate(agent.model_dump(exclude={"engine", *OF_ENGINE}))


def _write(folder: Path, own: Path | None, agent: Agent, setup: Setup, threshold: float) -> None:
    rubric = setup.agent(agent.name)
    found = find_rubric(setup.label.rubric or agent.rubric, own)
    approval = found.approval.model_copy(update={"rubric": rubric}) if found.approval and found.approved else None
    graded_by = found.model_copy(update={"threshold": threshold, "approval": approval})
    with new_file(folder / f"{rubric}{SUFFIX}") as out:
        out.write(tomlkit.dumps(graded_by.model_dump(mode="json", exclude={"name"}, exclude_none=True)))
    changes = {"rubric": rubric, "model": setup.model, "pool": setup.pool(agent)}
    copy = (_without_engine(agent) if setup.label.one_call else agent).model_copy(update=changes)
    with new_file(folder / f"{setup.agent(agent.name)}.toml") as out:
        left_out = {"name", "pools", "promotion"}
        out.write(tomlkit.dumps(copy.model_dump(mode="json", exclude=left_out, exclude_none=True, exclude_unset=True)))
