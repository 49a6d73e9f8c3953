"""`memshare evaluate` and `memshare report`: measure what memories do, with any model, and make a page of it."""

from __future__ import annotations

import signal
import webbrowser
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from memshare.cli.options import AgentOfLines, Json, KindOfLines, Yes
from memshare.evaluation.evaluate import evaluate
from memshare.evaluation.experiments import EXPERIMENTS
from memshare.evaluation.languages import LanguagesResult, evaluate_languages
from memshare.evaluation.papers import PAPERS, Paper, beside, paper_named
from memshare.evaluation.request import ExperimentRequest, Forecast, forecasts, request_of
from memshare.evaluation.result import LEGEND, ExperimentResult, interval_text, judged_by, summary
from memshare.operate.preflight import check_models
from memshare.terminal.console import (
    console,
    errors,
    print_json,
    progress_bar,
    require_consent,
    stopping,
    table,
    turned_table,
)
from memshare.terminal.ids import counted
from memshare_broker.errors import BadInput, MemshareError
from memshare_broker.settings import OFFLINE, Settings, load_settings
from memshare_broker.wire.messages import Usage
from memshare_llm.limits.budget import SHIPPED, Prices, load_prices
from memshare_llm.models import needs_model

EVERY = "all"
PAPER = "paper"
LANGUAGES = "languages"


def run(
    experiment: Annotated[
        str, typer.Argument(help=f"One of {', '.join(EXPERIMENTS)}; {EVERY}; {PAPER} NAME; {LANGUAGES}.")
    ],
    data: Annotated[
        list[Path] | None,
        typer.Option(
            help="Files of JSON lines: {agent, kind, prompt, answer}, the prompt may be absent; or {messages}."
        ),
    ] = None,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILES]...", help=f"More files of data. First the NAME of a paper: {', '.join(PAPERS)}."
        ),
    ] = None,
    agent: AgentOfLines = None,
    kind: KindOfLines = None,
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
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Measure what memories do for the agents: the same tasks under several conditions, graded, with intervals.

    It runs in a deployment of its own in the folder, through real queues. If interrupted, run it again: it resumes.
    With --json each experiment is one document on a line of its own. A paper is all its tables that are experiments,
    and a page of them beside what the paper says, OUT/NAME.html.

    `languages` asks a pool in two languages, without any model: which memories are found is all it looks at. Lines of
    its file are {prompt, answer, translated_prompt}, and perhaps translated_answer and in_other_words.

    Example: memshare evaluate memories --data riddles.jsonl --models openai:gpt-5.6-luna --out evaluation
    """
    more = list(files or [])
    if experiment == LANGUAGES:
        _say_languages(evaluate_languages([*(data or []), *more], load_settings()), as_json=as_json)
        return
    paper = _paper(more) if experiment == PAPER else None
    names = list(EXPERIMENTS) if experiment == EVERY else paper.experiments if paper else [experiment]
    if unknown := [name for name in names if name not in EXPERIMENTS]:
        raise BadInput(
            f"No experiment is called {unknown[0]!r}. There are: {', '.join([*EXPERIMENTS, EVERY, PAPER, LANGUAGES])}."
        )
    chosen = [model.strip() for model in (models or "").split(",") if model.strip()]
    settings = load_settings()
    given = [*(data or []), *more]
    using = tuple(dict.fromkeys(chosen)) or (settings.model_for("agents"),)
    if judge == settings.model_for("scorer"):
        raise BadInput(f"{judge} grades already, as the scorer: a second judge is another model.")
    wants = max(names, key=lambda name: EXPERIMENTS[name].least_models)
    if experiment != EVERY and len(using) < (least := EXPERIMENTS[wants].least_models):
        raise BadInput(f"The experiment {wants!r} takes {least} models or more: name them with --models A,B.")
    requests = [
        # Of all experiments those that come with data that is all asked keep it.
        request_of(
            one, given if experiment != EVERY or one.bundled is None or one.bundled.split else [], settings, seed,
            items, agent, kind, shared=paper is not None, models=using, out=out, learning=learning, judge=judge,
        )
        for one in (EXPERIMENTS[name] for name in names)
    ]  # fmt: skip
    expected = forecasts(requests, settings)
    settings = _with_prices(settings, {model for one in expected for model in one.usual})
    if any(one.tasks for one in expected):  # what has ended is told without any model
        graders = (settings.model_for("scorer"), settings.model_for("trainer"), *([judge] if judge else []))
        if OFFLINE in (*using, *graders):
            raise BadInput(needs_model("An experiment"))
        check_models(settings, dict.fromkeys([*using, *graders]))
    _say_cost(requests, expected, load_prices(settings.prices))
    if any(one.tasks for one in expected):
        require_consent("Go on?", yes=yes)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    for request, one in zip(requests, expected, strict=True):
        result = _run(request, settings, one.tasks)
        _say(result, request.out, as_json=as_json)
        if paper and not as_json:
            _say_paper(paper, result)
    if paper:
        from memshare.evaluation.report import write_report  # matplotlib and scipy take seconds to import

        errors.print(f"{write_report(out, out / f'{paper.name}.html', paper).file} has all tables of the paper.")


def _paper(files: list[Path]) -> Paper:
    """The paper that the first of the files names, which it takes away."""
    if not files:
        raise BadInput(f"Which paper? Name one of {', '.join(PAPERS)}: `memshare evaluate {PAPER} ms --data FILE`.")
    return paper_named(str(files.pop(0)))


def _with_prices(settings: Settings, models: set[str]) -> Settings:
    """The settings with the prices that memshare comes with, where there are no others and these have each model."""
    shipped = load_prices(SHIPPED)
    if settings.prices is None and all(shipped.of(model) for model in models):
        return settings.model_copy(update={"prices": SHIPPED})
    return settings


def _run(request: ExperimentRequest, settings: Settings, tasks: int) -> ExperimentResult:
    name = request.experiment.name
    with (
        stopping("Run it again: it resumes, and pays for nothing twice."),
        progress_bar("Starting", tasks or None) as bar,
    ):
        return evaluate(request, settings, lambda what, count: bar(description=f"{name}: {what}", advance=count))


def _say_cost(requests: list[ExperimentRequest], expected: list[Forecast], prices: Prices) -> None:
    for request, one in zip(requests, expected, strict=True):
        calls = ", ".join(f"{count:,} of {model}" for model, count in one.calls.items())
        errors.print(f"{request.experiment.name}: {counted(one.tasks, 'task')}; calls, about: {calls or 'none'}.")
        if one.too_small:
            errors.print(f"{request.experiment.name}: {one.too_small}", style="yellow")
    used = {
        model: sum((one.usual.get(model, Usage()) for one in expected), Usage())
        for one in expected
        for model in one.usual
    }
    for model, usage in used.items():
        tokens = f"about {usage.prompt_tokens:,} tokens of prompts and {usage.completion_tokens:,} of replies"
        day = f" of {prices.as_of}, which you have to check" if prices.as_of else ""
        money = f"{prices.cost(model, usage):,.2f} {prices.currency} by the prices{day}"
        errors.print(f"{model}: {tokens}, {money if prices.of(model) else 'without a price'}.")
    for parts, files in dict.fromkeys((request.split, tuple(request.files)) for request in requests):
        errors.print(
            f"{', '.join(one.file for one in files)}: {len(parts.seeds)} seeds, {len(parts.queries)} queries, "
            f"{len(parts.test)} test. Dropped, as their question or answer had been there: "
            f"{sum(one.dropped for one in files)}.",
        )


def _say(result: ExperimentResult, out: Path, *, as_json: bool) -> None:
    if as_json:
        print_json(result.model_dump(mode="json"))
        return
    heads, rows = summary(result)
    console.print(turned_table(*heads, rows=rows, title=result.title))
    for note in filter(None, (*result.notes, judged_by(result))):
        console.print(note, style="yellow")
    console.print(LEGEND, style="dim")
    console.print(
        f"{out / result.experiment}: tables, charts and every item. `memshare report {quote(str(out))}` makes a page"
        " of it."
    )


def _say_paper(paper: Paper, result: ExperimentResult) -> None:
    """Say what the paper found with the tables of an experiment, and print its figures with ours below them."""
    for one in (one for one in paper.tables if one.experiment == result.experiment):
        console.print(f"The paper ({paper.place}): {one.said}")
        if one.figures:
            heads, rows = beside(one.figures, result)
            console.print(turned_table(*heads, rows=rows, title=f"{one.figures.name} of the paper, and here"))


def _say_languages(result: LanguagesResult, *, as_json: bool) -> None:
    if as_json:
        print_json(result.model_dump(mode="json"))
        return
    rows = [
        [one.asked, one.found_by, one.questions, interval_text(one.first, 2), interval_text(one.among_three, 2)]
        for one in result.rows
    ]
    title = f"{result.memories} memories of {result.file}, by {result.encoder}"
    console.print(table("asked in", "found by", "questions", "first [95 %]", "among three", rows=rows, title=title))
    if (alike := result.likeness) is None:
        console.print("No BERTScore: too few answers have a translation, or the encoder does not know its words.")
    else:
        console.print(
            f"BERTScore F1 of {counted(alike.answers, 'answer')} and their translations: {interval_text(alike.same, 3)}"
            f"; and those of other answers: {interval_text(alike.others, 3)}. By the token vectors of {alike.reader}."
        )


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What `memshare evaluate --out` wrote to.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The page to write. [default: FOLDER/report.html]")
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    as_json: Json = False,
) -> None:
    """Make one HTML page of all experiments, with charts and examples, that can be read offline.

    Example: memshare report evaluation --open
    """
    from memshare.evaluation.report import write_report  # matplotlib and scipy take seconds to import

    written = write_report(folder, out or folder / "report.html")
    if as_json:
        print_json(written.model_dump(mode="json"))
    else:
        console.print(f"Written to {written.file}: {', '.join(written.experiments)}.")
        for what, names in (("Not finished", written.unfinished), ("Not begun", written.not_begun)):
            if names:
                errors.print(f"{what}: {', '.join(names)}.")
    if show and not webbrowser.open(Path(written.file).resolve().as_uri()):
        raise MemshareError(f"No browser was found to open {written.file} with.")
