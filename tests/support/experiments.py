"""Small experiments with plain values: what was measured, the result of it, and a folder that holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from memshare.evaluation.data import FileReport
from memshare.evaluation.experiment import NO_MEMORIES
from memshare.evaluation.folder import Folder, RunCost
from memshare.evaluation.lab import Measured
from memshare.evaluation.report import draw
from memshare.evaluation.result import ExperimentResult, markdown, rows_of
from memshare_broker.wire.messages import derived_id


def cell(
    condition: str,
    scores: Sequence[float | None],
    *,
    phase: str = "",
    model: str = "openai:one",
    memories: int = 0,
    marks: Mapping[str, float] | None = None,
    **more: Any,
) -> list[Measured]:
    """One measured item for each score: those with even numbers are riddles, the others puns."""
    return [
        Measured(
            condition=condition,
            phase=phase,
            model=model,
            agent="logic",
            kind="pun" if number % 2 else "riddle",
            item=f"item {number}",
            task_id=f"{model} {condition} {phase} {number}",
            answer=f"answer {number} with {condition}",
            score=score,
            accepted=score is not None and score > 80,
            shown=tuple(derived_id(f"memory {one}") for one in range(memories)),
            similarities=(0.5,) * memories,
            retriever_version=0,
            length=4,
            f1=0.8,
            marks=dict(marks or {}),
            error=None if score is not None else "The key is wrong.",
            **{"prompt": f"question {number}", "reference": f"reference {number}"} | more,
        )
        for number, score in enumerate(scores)
    ]


def result_of(measured: Sequence[Measured], **more: Any) -> ExperimentResult:
    values: dict[str, Any] = {
        "experiment": "memories",
        "title": "More memories in the prompt",
        "question": "Do memories help?",
        "method": "They are shown or not.",
        "baseline": NO_MEMORIES,
        "by_phase": any(one.phase for one in measured),
        "models": tuple(dict.fromkeys(one.model for one in measured)),
        "scorer": "openai:one",
        "data": (FileReport(file="riddles.jsonl", items=7, dropped=2),),
        "same_question": 1,
        "parts": {"seeds": 2, "queries": 3, "test": 4},
        "seed": 7,
        "settings": {"encoder": "all-MiniLM-L6-v2"},
        "versions": {"python": "3.11"},
        "rows": rows_of(measured, NO_MEMORIES, with_judge=any(one.judged is not None for one in measured)),
    }
    return ExperimentResult(**values | more)


def write_experiment(folder: Path, measured: Sequence[Measured], **more: Any) -> ExperimentResult:
    """The folder of a finished experiment, under its name."""
    result = result_of(measured, **more)
    path = folder / result.experiment
    path.mkdir(parents=True)
    draw(result, path)
    run = RunCost(
        started=1_700_000_000,
        seconds=75.4,
        calls={"openai:one": 1234},
        tokens={"openai:one": {"prompt": 56_789, "completion": 10}},
        money=None,
        currency=None,
    )
    Folder(path).write(measured, result, run, markdown(result))
    return result
