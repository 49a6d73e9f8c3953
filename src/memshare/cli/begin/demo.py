"""`memshare demo`: what memories give, or the whole journey on bundled tasks, in a folder of its own."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from rich.text import Text

from memshare.cli.ask.trace import draw
from memshare.cli.begin.demo_gain import demo_gain, folder_for, running
from memshare.cli.options import Json
from memshare.client.client import Client
from memshare.client.journey import Journey, outcome_of
from memshare.demo.gain import ORDER
from memshare.demo.play import AGENT as REASONING
from memshare.demo.play import PAGES, Played, Progress, as_json, play, reason
from memshare.operate.data_folder import connected
from memshare.terminal.console import console, errors, panel, print_json, progress_bar, short, stopping, styled, table
from memshare.terminal.ids import concept_names, counted
from memshare_broker.errors import BadInput
from memshare_broker.settings import OFFLINE, OwnSettings, Settings, load_settings
from memshare_llm.models import needs_model

if TYPE_CHECKING:
    from memshare.demo.concepts import ExploredFlashcards

T = TypeVar("T")

GROUPS = {
    "without": "without memories",
    "with_memories": "with memories",
    "first": "the same tasks, first without",
    "again": "… and asked again, with",
}


def demo(
    data: Annotated[
        Path | None,
        typer.Option(
            help="Keep the data in this new folder. [default: MEMSHARE_DATA with -demo at its end, or itself if a demo "
            "made it, which the next demo empties; with --agents, --agent and --concepts a temporary one]"
        ),
    ] = None,
    tasks: Annotated[
        int, typer.Option(min=20, max=240, help="Graded tasks; half as many unseen questions a measurement.")
    ] = 200,
    seed: Annotated[
        int, typer.Option(help="Which questions are memories, tasks and unseen: two runs with one seed have the same.")
    ] = ORDER,
    agents: Annotated[
        bool, typer.Option("--agents", help="54 bundled tasks for poem, logic and plan, with their grades.")
    ] = False,
    agent: Annotated[str | None, typer.Option(help="reasoning: that agent alone, over bundled pages.")] = None,
    concepts: Annotated[
        bool, typer.Option("--concepts", help="542 bundled flashcards: their map, a cluster, a gap, a new question.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Measure in some minutes what a shared pool gives, on questions whose answers a program checks. Needs no key.

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
        demo_gain(data, tasks, seed, as_json=as_json)
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
    again = [one for one in played if one.name.endswith(" again")]
    prompts = {one.prompt for one in again}
    groups = {
        "without": [one for one in played if not one.shown],
        "with_memories": [one for one in played if one.shown],
        "first": [one for one in played if one.prompt in prompts and one not in again],
        "again": again,
    }
    rows = {name: _group(tasks) for name, tasks in groups.items()}
    if as_json:
        summary = {name: dict(zip(("tasks", "mean_score", "accepted"), row, strict=True)) for name, row in rows.items()}
        print_json({"model": played[0].model, "tasks": [one.as_json() for one in played], "summary": summary})
        return
    for one in played:
        _print_task(one)
    named = [(GROUPS[name], *row) for name, row in rows.items()]
    console.print(table("", "tasks", "mean score", "accepted", rows=named, title="Summary"))


def _group(tasks: Sequence[Played]) -> tuple[int, float, int]:
    """How many, the mean score of those that were graded, and how many were accepted."""
    scores = [one.score for one in tasks if one.score is not None]
    return len(tasks), round(fmean(scores), 1) if scores else 0.0, sum(one.accepted for one in tasks)


def _require_model(option: str) -> None:
    settings = load_settings(kind=OwnSettings)
    if OFFLINE in (settings.model_for("agents"), settings.model_for("scorer")):
        raise BadInput(f"{needs_model(f'`memshare demo {option}`')} `memshare demo` alone needs none.")


def _explore(data: Path | None, as_json: bool) -> None:
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
        stays = f"What it made stays in {str(data)!r}." if data else "Its temporary folder is gone."
        open_until_done.enter_context(stopping(stays))
        folder = open_until_done.enter_context(folder_for(data))
        with errors.status("Starting Redis, the memory service, agents, scorer and trainer …"):
            settings = open_until_done.enter_context(running(folder, agents_dir))
        yield settings


def _watched(settings: Settings, show: Callable[[Client, Progress], T]) -> T:
    """The result of `show`, with its progress on stderr."""
    model = settings.model_for("agents")
    errors.print(styled("Model: ", (model, "bold"), "."))
    with progress_bar("Tasks") as bar, contextlib.closing(Client(settings)) as client:
        return show(client, lambda what, done, total: bar(description=what, completed=done, total=total))


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
    console.print(f"Verified: {verified} of {counted(len(journeys), 'answer')}, in {counted(steps, 'step')}.")


def _verdict(journey: Journey) -> Text:
    if not journey.verified:
        return styled(("not verified", "yellow"), ": neither graded nor remembered")
    if journey.score is None:
        return styled(("verified", "green"), " · ", ("no grade", "red"))
    word = ("accepted", "green") if journey.score.accepted else ("not accepted", "yellow")
    return styled(("verified", "green"), f" · score {journey.score.total:.1f} · ", word)


MAP = "flashcards-map.html"


def show_explored(found: ExploredFlashcards, model: str, to_machine: bool) -> None:
    """Print what was found; for a machine as one JSON document."""
    if to_machine:
        print_json(_as_json(found, model))
        return
    cluster = found.cluster
    rows = [(topic.name, f"{topic.share:.0%}", f"{topic.lift:.1f}") for topic in cluster.topics[:5]]
    title = f"Cluster {cluster.number}: {cluster.name}, {counted(len(cluster.memories))}"
    console.print(table("concept", "of its memories", "times the pool's share", rows=rows, title=title))
    console.print(styled(("\nA gap: ", "bold"), found.gap.reason))
    rows = [(short(journey.prompt, 80), *outcome_of(journey)) for journey in found.asked]
    console.print(table("new question", "score", "outcome", rows=rows, title="\nAsked until an answer is remembered"))
    if found.memory is not None:
        memory = found.memory
        score = f"{memory.score:.1f}" if memory.score is not None else "none"
        title = f"A new memory, {memory.status}: score {score}"
        console.print(panel(styled((memory.prompt or "", "dim"), f"\n\n{memory.answer}"), title))
        names = ", ".join(concept_names(memory))
        console.print(f"Its concepts: {names or 'not named yet'}")
    else:
        console.print(f"Of {counted(len(found.asked), 'answer')} none was good enough to be kept.", style="yellow")
    console.print(f"\n{found.cards} flashcards of pool 'flashcards' on a map, for a browser: {found.map_file}")


def map_place(data: Path | None) -> Path:
    """Where the map goes: into the folder that is kept, or else into the current one."""
    return (data or Path.cwd()).absolute() / MAP


def _as_json(found: ExploredFlashcards, model: str) -> dict[str, object]:
    cluster, memory = found.cluster, found.memory
    return {
        "model": model,
        "cards": found.cards,
        "map": str(found.map_file),
        "cluster": {"number": cluster.number, "name": cluster.name, "memories": len(cluster.memories)},
        "gap": {"id": found.gap.id, "reason": found.gap.reason},
        "asked": [
            {
                "question": one.prompt,
                "answer": one.answer,
                "score": one.score.total if one.score else None,
                "outcome": one.outcome,
            }
            for one in found.asked
        ],
        "memory": memory.model_dump(mode="json") if memory else None,
    }
