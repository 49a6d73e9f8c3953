"""`memshare demo`: what memories give, or the whole journey on bundled tasks, in a folder of its own."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.text import Text

from memshare.cli.ask.trace_tree import draw
from memshare.cli.begin.demo_deployment import folder_for, running
from memshare.cli.begin.demo_gain import demo_gain
from memshare.cli.options import Json
from memshare.client.client import Client
from memshare.client.journey import Journey
from memshare.demo.play import AGENT as REASONING
from memshare.demo.play import PAGES, Played, Progress, as_json, play, reason
from memshare.demo.summary import Summary, summarise
from memshare.operate.own_redis import connected
from memshare.terminal.console import console, errors, panel, print_json, styled, table
from memshare_broker.errors import BadInput
from memshare_broker.settings import OFFLINE, Settings, load_settings
from memshare_llm.no_model import needs_model

T = TypeVar("T")


def demo(
    data: Annotated[
        Path | None,
        typer.Option(
            help="Keep the data in this new folder. [default: MEMSHARE_DATA with -demo at its end, which the next demo "
            "empties; with --agents, --agent and --concepts a temporary one]"
        ),
    ] = None,
    tasks: Annotated[
        int, typer.Option(min=20, max=240, help="Graded tasks; half as many unseen questions a measurement.")
    ] = 200,
    agents: Annotated[
        bool, typer.Option("--agents", help="54 bundled tasks for poem, logic and plan, with their grades.")
    ] = False,
    agent: Annotated[str | None, typer.Option(help="reasoning: that agent alone, over bundled pages.")] = None,
    concepts: Annotated[
        bool, typer.Option("--concepts", help="542 bundled flashcards: their map, a cluster, a gap, a new question.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Measure in a minute what a shared pool gives, on questions whose answers a program checks. Needs no key.

    With a key the model answers; --agents, --agent and --concepts need one. Leaves no process behind.

    Example: memshare demo

    Example: memshare demo --agents

    Example: memshare demo --concepts
    """
    if sum((agents, agent is not None, concepts)) > 1:
        raise BadInput("Give one of --agents, --agent and --concepts: each is a demo of its own.")
    if agent not in (None, REASONING):
        raise BadInput(f"There is no demo of the agent {agent!r} alone: write --agent {REASONING}, or leave it out.")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if not (agents or agent or concepts):
        demo_gain(data, tasks, as_json=as_json)
        return
    _require_model("--agents" if agents else "--concepts" if concepts else f"--agent {agent}")
    if concepts:
        _explore(data, as_json)
        return
    if agent == REASONING:
        # The worker reads its settings from the environment.
        os.environ["MEMSHARE_DOCUMENTS"] = str(PAGES)
        with _running(data) as settings:
            journeys = _watched(settings, reason)
        show_journeys(journeys, as_json)
        return
    with _running(data) as settings:
        played = _watched(settings, play)
    summary = summarise(played)
    if as_json:
        print_json(
            {
                "model": played[0].model,
                "tasks": [one.as_json() for one in played],
                "summary": summary.as_json(),
            }
        )
        return
    for one in played:
        _print_task(one)
    _print_summary(summary)


def _require_model(option: str) -> None:
    settings = load_settings()
    if OFFLINE in (settings.model_for("agents"), settings.model_for("scorer")):
        raise BadInput(f"{needs_model(f'`memshare demo {option}`')} `memshare demo` alone needs none.")


def _explore(data: Path | None, as_json: bool) -> None:
    from memshare.cli.begin.demo_concepts import map_place, show_explored  # numpy and scipy take a while to import
    from memshare.demo.concepts import AGENTS, explore_flashcards

    # The workers read their settings from the environment. There is one new memory, which waits for no other.
    os.environ |= {"MEMSHARE_AGENTS_DIR": str(AGENTS), "MEMSHARE_CONCEPTS_WAIT": "0"}
    with _running(data, AGENTS) as settings, connected(settings) as redis_client:
        found = _watched(settings, lambda client, tell: explore_flashcards(client, redis_client, map_place(data), tell))
        show_explored(found, settings.model_for("agents"), as_json)


@contextlib.contextmanager
def _running(data: Path | None, agents_dir: Path | None = None) -> Iterator[Settings]:
    """A deployment in a folder of its own, for as long as the block runs."""
    with contextlib.ExitStack() as open_until_done:
        folder = open_until_done.enter_context(folder_for(data))
        with errors.status("Starting Redis, the memory service, agents, scorer and trainer …"):
            settings = open_until_done.enter_context(running(folder, agents_dir))
        yield settings


def _watched(settings: Settings, show: Callable[[Client, Progress], T]) -> T:
    """What `show` gives, with its progress on stderr."""
    model = settings.model_for("agents")
    errors.print(styled("Model: ", (model, "bold"), "."))
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bar(*columns, console=errors, transient=True) as progress:
        bar = progress.add_task("Tasks", total=None)
        with contextlib.closing(Client(settings)) as client:
            return show(
                client,
                lambda what, done, total: progress.update(bar, description=what, completed=done, total=total),
            )


def _print_task(one: Played) -> None:
    if one.score is None:
        verdict = styled((f"no grade: {one.fault}", "red"))
    else:
        colour, word = ("green", "accepted") if one.accepted else ("yellow", "not accepted")
        verdict = styled(f"score {one.score:.1f} · ", (word, colour))
    shown = ", ".join(f"{name} ({similarity:.2f})" for name, similarity in one.shown) or "none"
    framed = panel(
        styled((one.prompt, "dim"), f"\n\n{one.answer or '–'}"),
        styled((one.name, "bold"), f" · {one.agent}/{one.kind} · ", verdict),
    )
    framed.subtitle, framed.subtitle_align = styled(f"model: {one.model} · memories shown: {shown}"), "left"
    console.print(framed)


def _print_summary(summary: Summary) -> None:
    groups = (
        ("without memories", summary.without),
        ("with memories", summary.with_memories),
        ("the same tasks, first without", summary.first),
        ("… and asked again, with", summary.again),
    )
    rows = [(name, group.tasks, f"{group.mean_score:.1f}", group.accepted) for name, group in groups]
    console.print(table("", "tasks", "mean score", "accepted", rows=rows, title="Summary"))
    console.print(
        f"\n{summary.users} later tasks were shown answers of earlier tasks ({summary.reused} different ones); "
        f"{summary.users_accepted} of these were accepted and became memories themselves."
    )
    if summary.chain:
        console.print("The longest line of descent: " + " → ".join(summary.chain))


def show_journeys(journeys: Sequence[Journey], to_machine: bool) -> None:
    """Print the journeys of the questions; for a machine as one JSON document."""
    if to_machine:
        print_json({"model": journeys[0].model, "questions": [as_json(one) for one in journeys]})
        return
    for journey in journeys:
        console.print(draw(journey.prompt, journey.steps))
        answer = journey.answer or (journey.dead.error if journey.dead else "–")
        console.print(panel(answer, _verdict(journey)))
        console.print()
    verified = sum(bool(one.verified) for one in journeys)
    steps = sum(len(one.steps) for one in journeys)
    console.print(f"{verified} of {len(journeys)} answers were verified, in {steps} steps.")


def _verdict(journey: Journey) -> Text:
    if not journey.verified:
        return styled(("not verified", "yellow"), ": neither graded nor remembered")
    if journey.score is None:
        return styled(("verified", "green"), " · ", ("no grade", "red"))
    word = ("accepted", "green") if journey.score.accepted else ("not accepted", "yellow")
    return styled(("verified", "green"), f" · score {journey.score.total:.1f} · ", word)
