"""`memshare learn` and `memshare seed`: begin a pool with what is known to be good."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from memshare.cli.options import Json
from memshare.client.client import Client
from memshare.client.models_at_work import is_graded_by_programs, require_agent_model, require_scorer_model
from memshare.learn import bootstrap as learning
from memshare.learn.bootstrap_report import Figures, Group, figures
from memshare.learn.standard_answers import StandardAnswer, read_standard_answers
from memshare.terminal.console import console, errors, print_json, table

SHOWN_ERRORS = 5

Agent = Annotated[str | None, typer.Option(help="The agent of lines that name none.")]
Kind = Annotated[str | None, typer.Option(help="The kind of lines that name none.")]
Submitter = Annotated[str, typer.Option(help="Name recorded as the submitter.")]


def learn(
    file: Annotated[Path, typer.Argument(metavar="ANSWERS.jsonl", help="JSON lines: {answer, agent, kind} each.")],
    agent: Agent = None,
    kind: Kind = None,
    rounds: Annotated[int, typer.Option(min=1, max=100, help="Questions to ask for each answer.")] = 2,
    submitter: Submitter = "anonymous",
    as_json: Json = False,
) -> None:
    """Begin a pool with good answers alone: for each its agent is asked for a question that it could answer.

    Everything is graded: a question with its standard answer becomes a seed.
    The question goes to all agents of the pool that have the kind, too.
    Run it again to go on: what is done is not paid for again.

    Example: memshare learn limericks.jsonl --agent poem --kind limerick
    """
    client = Client()
    lines = read_standard_answers(client, file, agent, kind, with_prompts=False)
    require_agent_model(client, {line.agent for line in lines}, "`memshare learn`")
    _require_grading(client, lines, "`memshare learn`")
    with _bar(f"memshare learn {file}") as progress:
        learnt = learning.learn(client, lines, rounds, submitter, progress)
    _finish(figures(client, lines, learnt), as_json)


def seed(
    file: Annotated[
        Path, typer.Argument(metavar="PAIRS.jsonl", help="JSON lines: {prompt, answer, agent, kind} each.")
    ],
    agent: Agent = None,
    kind: Kind = None,
    submitter: Submitter = "anonymous",
    as_json: Json = False,
) -> None:
    """Begin a pool with good pairs: each is graded, and becomes a seed where it is good enough.

    `memshare memories import` takes pairs as they are, without grading.
    Run it again to go on: what is done is not paid for again.

    Example: memshare seed riddles.jsonl --agent logic --kind riddle
    """
    client = Client()
    lines = read_standard_answers(client, file, agent, kind, with_prompts=True)
    _require_grading(client, lines, "`memshare seed`")
    with _bar(f"memshare seed {file}") as progress:
        learnt = learning.seed(client, lines, submitter, progress)
    _finish(figures(client, lines, learnt), as_json)


def _require_grading(client: Client, lines: Sequence[StandardAnswer], command: str) -> None:
    """Raise `BadInput` where a line could not be graded, as the scorer has no model and programs do not do all."""
    cards = client.agents()
    if not all(is_graded_by_programs(client, cards[line.agent].rubric, line.kind) for line in lines):
        require_scorer_model(client, command)


@contextlib.contextmanager
def _bar(command: str) -> Iterator[learning.Progress]:
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    try:
        with Progress(*columns, console=errors, transient=True) as bar:
            task = bar.add_task("", total=None)
            yield lambda what, ended, total: bar.update(
                task, description=what[:1].upper() + what[1:], completed=ended, total=total
            )
    except KeyboardInterrupt as stop:
        errors.print(
            f"Stopped. What is queued goes on by itself. Run `{command}` again, with the same options, to go on: "
            "what is done is not paid for again.",
            soft_wrap=True,
        )
        raise typer.Exit(130) from stop


def _finish(found: Figures, as_json: bool) -> None:
    if as_json:
        print_json(found.as_json())
    else:
        _print(found)
    if found.dead:
        errors.print(f"{len(found.dead)} were given up, such as:", style="red")
        for error in list(dict.fromkeys(found.dead))[:SHOWN_ERRORS]:
            errors.print(error)
        errors.print("`memshare dead list` shows them; after `memshare dead retry --all`, the same command goes on.")
        raise typer.Exit(1)


def _print(found: Figures) -> None:
    rows = [
        ("lines", found.lines),
        ("questions", found.questions),
        ("seeds accepted", _of(found.accepted)),
        ("seeds rejected", _of(found.rejected)),
        ("answers graded", _of(found.answers)),
        ("answers accepted", found.answers_accepted),
        ("answers not verified", found.answers_unverified),
        ("done before", found.before),
        ("dead letters", len(found.dead)),
    ]
    console.print(table("what", "how many", rows=rows))
    limits = [
        (one.pool, one.rubric, _number(one.threshold), "mean of its seeds" if one.mean_of_seeds else "of the rubric")
        for one in found.thresholds
    ]
    console.print(table("pool", "rubric", "threshold", "which is", rows=limits))


def _of(group: Group) -> str:
    return f"{group.pairs}, mean score {group.mean_score:.1f}" if group.mean_score is not None else "0"


def _number(value: float | None) -> str:
    return "not known here" if value is None else f"{value:.1f}"
