"""`memshare evaluate`: measure what memories do, with any model."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from memshare.cli.options import Json
from memshare.evaluation.evaluate import evaluate
from memshare.evaluation.experiments import EXPERIMENTS
from memshare.evaluation.rehearsal import Rehearsal, rehearse
from memshare.evaluation.request import Request, request_of
from memshare.evaluation.result import Result
from memshare.evaluation.tables import LEGEND, judged_by, summary
from memshare.operate.preflight import check_models
from memshare.terminal.console import console, errors, print_json, table
from memshare_broker.errors import BadInput
from memshare_broker.settings import OFFLINE, Settings, load_settings
from memshare_llm.no_model import needs_model

EVERY = "all"


def run(
    experiment: Annotated[str, typer.Argument(help=f"One of {', '.join(EXPERIMENTS)}; or {EVERY}.")],
    data: Annotated[
        list[Path] | None,
        typer.Option(help="Files of JSON lines: {agent, kind, prompt, answer}; the prompt may be absent."),
    ] = None,
    files: Annotated[list[Path] | None, typer.Argument(metavar="[FILES]...", help="More files of data.")] = None,
    models: Annotated[
        str | None, typer.Option(help="Models of the agents, with commas. [default: the one of the settings]")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of all experiments on this data.")] = Path("evaluation"),
    judge: Annotated[
        str | None,
        typer.Option(help="A second model that grades the answers to the test set; its grades change nothing."),
    ] = None,
    learning: Annotated[
        bool, typer.Option(help="Whether the retriever learns from each memory and answers give credit.")
    ] = True,
    items: Annotated[int | None, typer.Option(min=5, help="Maximum items of a kind.")] = None,
    seed: Annotated[int, typer.Option(help="Of the split into seeds, queries and test.")] = 7,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before calling the models.")] = False,
    as_json: Json = False,
) -> None:
    """Measure what memories do for the agents: the same tasks under several conditions, graded, with intervals.

    It runs in a deployment of its own in the folder, through real queues. If interrupted, run it again: it resumes.
    With --json each experiment is one document on a line of its own.

    Example: memshare evaluate memories --data riddles.jsonl --models openai:gpt-5.6-luna --out evaluation
    """
    names = list(EXPERIMENTS) if experiment == EVERY else [experiment]
    if unknown := [name for name in names if name not in EXPERIMENTS]:
        raise BadInput(f"No experiment is called {unknown[0]!r}. There are: {', '.join(EXPERIMENTS)}; or {EVERY}.")
    chosen = [model.strip() for model in (models or "").split(",") if model.strip()]
    settings = load_settings()
    given = [*(data or []), *(files or [])]
    using = tuple(dict.fromkeys(chosen)) or (settings.model_for("agents"),)
    if judge == settings.model_for("scorer"):
        raise BadInput(f"{judge} grades already, as the scorer: a second judge is another model.")
    if experiment != EVERY and len(using) < (least := EXPERIMENTS[experiment].least_models):
        raise BadInput(f"The experiment {experiment!r} takes {least} models or more: name them with --models A,B.")
    requests = [
        # Of all experiments those that come with their data keep it.
        request_of(
            one, given if experiment != EVERY or one.bundled is None else [], settings, seed, items,
            models=using, out=out, learning=learning, judge=judge,
        )
        for one in (EXPERIMENTS[name] for name in names)
    ]  # fmt: skip
    rehearsals = rehearse(requests, settings)
    if any(one.tasks for one in rehearsals):  # what has ended is told without any model
        graders = (settings.model_for("scorer"), settings.model_for("trainer"), *([judge] if judge else []))
        if OFFLINE in (*using, *graders):
            raise BadInput(needs_model("An experiment"))
        check_models(settings, dict.fromkeys([*using, *graders]))
    _say_most(requests, rehearsals)
    if not yes and any(one.most.total() for one in rehearsals):
        if as_json or not sys.stdin.isatty():
            raise BadInput("Nobody can be asked here whether to go on: look at the numbers above, and give --yes.")
        typer.confirm("Go on?", abort=True, err=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    for request, one in zip(requests, rehearsals, strict=True):
        _say(_run(request, settings, one.tasks), request.out, as_json=as_json)


def _run(request: Request, settings: Settings, tasks: int) -> Result:
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=errors, transient=True) as bars:
        bar = bars.add_task("Starting", total=tasks or None)

        def progress(what: str, count: int) -> None:
            bars.update(bar, description=f"{request.experiment.name}: {what}", advance=count)

        try:
            return evaluate(request, settings, progress)
        except KeyboardInterrupt:
            errors.print("Interrupted. Run it again: it resumes, and pays for nothing twice.")
            raise


def _say_most(requests: list[Request], rehearsals: list[Rehearsal]) -> None:
    for request, one in zip(requests, rehearsals, strict=True):
        most = ", ".join(f"{count:,} of {model}" for model, count in one.most.items() if count)
        errors.print(f"{request.experiment.name}: {one.tasks:,} tasks; calls at most: {most or 'none'}.")
    for parts, files in dict.fromkeys((request.split, tuple(request.files)) for request in requests):
        errors.print(
            f"{', '.join(one.file for one in files)}: {len(parts.seeds)} seeds, {len(parts.queries)} queries, "
            f"{len(parts.test)} test. Dropped, as their question or answer had been there: "
            f"{sum(one.dropped for one in files)}.",
        )


def _say(result: Result, out: Path, *, as_json: bool) -> None:
    if as_json:
        print_json(result.model_dump(mode="json"))
        return
    heads, rows = summary(result)
    console.print(table(*heads, rows=rows, title=result.title))
    for note in filter(None, (*result.notes, judged_by(result))):
        console.print(note, style="yellow")
    console.print(LEGEND, style="dim")
    console.print(
        f"{out / result.experiment}: tables, charts and every item. `memshare report {quote(str(out))}` makes a page"
        " of it."
    )
