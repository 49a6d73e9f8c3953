"""The papers whose tables are experiments here, and the findings and figures that they print (`papers.toml`)."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter

from memshare.evaluation.result import ALL, ExperimentResult
from memshare_broker.errors import BadInput


class Figures(NamedTuple):
    """The figures of a paper's table, in percent: a row for each model, a column for each head.

    `ours` is what the experiment counts in each column: condition, phase and mark. It is empty where it counts
    something else, which then stands in no column.
    """

    name: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float, ...]], ...]
    ours: tuple[tuple[str, str, str], ...] = ()


class Table(NamedTuple):
    """A table or figure of a paper: its subject, the experiment here, and the paper's finding and figures."""

    shows: str
    experiment: str
    said: str
    figures: Figures | None = None


class Paper(NamedTuple):
    """A paper, where it stands, and its tables."""

    name: str
    title: str
    place: str
    tables: tuple[Table, ...]
    note: str

    @property
    def experiments(self) -> list[str]:
        return list(dict.fromkeys(table.experiment for table in self.tables))


def beside(figures: Figures, result: ExperimentResult | None) -> tuple[list[str], list[list[str]]]:
    """The heads and rows of a paper's table, and below them a row for each model of ours, where it counts the same."""
    rows = [[f"{model} (paper)", *(f"{value:.1f}" for value in values)] for model, values in figures.rows]
    found = {
        (row.model, row.condition, row.phase, mark): value.mean
        for row in (result.rows if result else ())
        if row.kind == ALL
        for mark, value in row.marks.items()
    }
    for model in result.models if result and figures.ours else ():
        values = [found.get((model, *cell)) for cell in figures.ours]
        rows.append([f"{model} (here)", *("–" if value is None else f"{100 * value:.1f}" for value in values)])
    return ["%", *figures.heads], rows


_FILE = tomllib.loads((Path(__file__).parent / "papers.toml").read_text(encoding="utf-8"))
PAPERS = TypeAdapter(dict[str, Paper]).validate_python({name: {"name": name, **one} for name, one in _FILE.items()})

CONCEPTS = "concepts"


def paper_named(name: str) -> Paper:
    """The paper of a name; raises `BadInput` for an unknown one."""
    if name == CONCEPTS:
        raise BadInput(
            "What is said of concepts is measured on the bundled flashcards, without a model: run "
            "`python -m benchmarks.concepts` and `python -m benchmarks.concepts_growth` in the source tree."
        )
    if name not in PAPERS:
        raise BadInput(f"No paper is called {name!r}. There are: {', '.join(PAPERS)}.")
    return PAPERS[name]
