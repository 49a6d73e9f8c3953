"""The reasoning agent in the running system, on a served model that invents; or `--models openai:NAME`.

`python -m benchmarks.reasoning` asks a model of the tests on loopback, which finds sentences by their words and infers
nothing: that says what the machinery lets through, and nothing of a real model.

Three experiments of `memshare evaluate`, on the questions that come with them: complex questions by the engine and by
one call; facts that are told, changed and deleted, asked for in other words; true and false statements side by side,
which the system finds to contradict each other and the agent's own verdicts tell apart.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.report import print_figures
from memshare.evaluation.evaluate import evaluate
from memshare.evaluation.experiments import EXPERIMENTS
from memshare.evaluation.request import request_of
from memshare.evaluation.result import ALL, ExperimentResult, ResultRow
from memshare_broker.settings import load_settings
from tests.support.inventing_model.chat import served

COMPLEX = "complex"
NAMES = (COMPLEX, "facts", "contradictions")


def main(
    models: Annotated[
        str | None, typer.Option(help="Models of the agents, with commas. [default: one that invents, on loopback]")
    ] = None,
    data: Annotated[
        list[Path] | None,
        typer.Option(help="Questions for `complex`, such as ComplexWebQuestions as it comes. [default: those here]"),
    ] = None,
    items: Annotated[int | None, typer.Option(min=1, help="Questions of each experiment at most.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder to keep the experiments in; they go on from there.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document in place of a table.")] = False,
) -> None:
    """Run the three experiments, and print the shares of answers that say what they should."""
    if models is None:
        os.environ |= served()  # the workers read it there
    settings = load_settings()
    using = tuple(models.split(",")) if models else (settings.model_for("agents"),)
    with tempfile.TemporaryDirectory(prefix="memshare-bench-") as name:
        folder = out or Path(name)
        figures: dict[str, Mapping[str, object]] = {}
        notes: list[str] = []
        for experiment in NAMES:
            request = request_of(
                EXPERIMENTS[experiment],
                (data or []) if experiment == COMPLEX else [],
                settings,
                7,
                items,
                models=using,
                out=folder,
                agent="reasoning",
            )
            result = evaluate(request, settings, lambda _what, _count: None)
            figures |= figures_of(result)
            notes += result.notes
    print_figures(
        "The reasoning agent in the running system",
        figures,
        as_json=as_json,
        notes=[f"Models: {models or 'one of the tests, which infers nothing'}.", *notes],
    )


def figures_of(result: ExperimentResult) -> dict[str, Mapping[str, object]]:
    """A row for each condition, phase and model: score, and what was counted."""
    return {_name(result, row): _of(row) for row in result.rows if row.kind == ALL}


def _name(result: ExperimentResult, row: ResultRow) -> str:
    model = row.model if len(result.models) > 1 else ""
    return ", ".join(filter(None, (result.experiment, row.condition, row.phase, model)))


def _of(row: ResultRow) -> Mapping[str, object]:
    score = {"score": row.score and round(row.score.mean, 1), "not verified": row.unverified}
    return score | {name: round(mark.mean, 3) for name, mark in row.marks.items()}


if __name__ == "__main__":
    typer.run(main)
