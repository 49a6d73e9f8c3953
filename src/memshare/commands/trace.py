"""`memshare result` and `memshare trace`: what became of a task, or of a standard answer."""

from __future__ import annotations

from typing import Annotated

import typer

from memshare.broker.errors import BadInput, MemshareError, TryAgain, Unreachable
from memshare.broker.wire.extractions import Extracted, NotedConcepts
from memshare.broker.wire.messages import Shown
from memshare.client import Client
from memshare.commands.options import Json
from memshare.commands.trace_tree import draw
from memshare.console import console, errors, moment, panel, print_json, print_text, short, styled, table
from memshare.journey import Journey
from memshare.memory_ids import short_id
from memshare.memory_service.stores.store import Where
from memshare.quoted_answer import whose_answer
from memshare.task_ids import find_task

TaskId = Annotated[str, typer.Argument(metavar="ID", help="The id that `submit` printed, or its first 8 digits.")]


def result(task_id: TaskId, as_json: Json = False) -> None:
    """Print the answer of a task that was submitted earlier.

    Example: memshare result 1c6fa3b2
    """
    client = Client()
    task_id = find_task(client, task_id)
    journey = client.journey(task_id)
    if journey.what != "task":
        raise BadInput(f"{task_id!r} is a {journey.what}, which nobody answers: `memshare trace {task_id}` shows it.")
    if journey.dead and journey.answer is None:
        raise MemshareError(
            f"The task was given up: {journey.dead.error} See `memshare dead show {journey.dead.entry.id}`."
        )
    if journey.cancelled and journey.answer is None:
        raise MemshareError(f"The task was cancelled: {journey.cancelled.why}")
    if journey.answer is None:
        raise Unreachable(f"The task has no answer yet; it waits in the queue {journey.agent!r} or is being answered.")
    if journey.quoted is not None:
        errors.print(whose_answer(journey.quoted), style="yellow", soft_wrap=True)
    if as_json:
        print_json(client.ledger.journey(task_id)["answer"])
    else:
        print_text(journey.answer)


def trace(
    task_id: TaskId,
    tree: Annotated[bool, typer.Option("--tree", help="Draw the steps of a reasoning agent's run.")] = False,
    as_json: Json = False,
) -> None:
    """Show the journey of a task: answer, memories shown, score, and what was remembered.

    Example: memshare trace 1c6fa3b2 --tree
    """
    client = Client()
    task_id = find_task(client, task_id)
    journey = client.journey(task_id)
    if as_json:
        print_json(journey.model_dump(mode="json"))
        return
    if tree:
        if not journey.steps:
            raise BadInput(f"The task {task_id!r} has no steps: it is not answered yet, or its agent takes none.")
        console.print(draw(journey.prompt, journey.steps))
        return
    of_kind = f" · {journey.kind}" if journey.kind else ""
    about = f"{of_kind} · {journey.state} · by {journey.submitter} · {moment(journey.submitted)}"
    console.print(styled((journey.agent, "bold"), about))
    if journey.part_of is not None:
        console.print(f"A sub-question of the task {journey.part_of}.", style="dim")
    if journey.what == "task":
        console.print(panel(journey.prompt, "prompt", "dim"))
        if journey.answer is not None:
            console.print(panel(journey.answer, f"answer · model: {journey.model}"))
            if journey.quoted is not None:
                console.print(whose_answer(journey.quoted), style="yellow", soft_wrap=True)
            _print_memories(journey)
            if journey.withheld is not None:
                _print_withheld(client, journey.withheld)
    else:
        _print_standard(journey)
    if journey.steps:
        console.print(f"{len(journey.steps)} steps; `memshare trace {task_id} --tree` draws them.", style="dim")
    if journey.score is not None:
        _print_score(journey)
    if journey.waits is not None:
        console.print(styled(("waits", "yellow"), f" until {moment(journey.waits.until)}: {journey.waits.why}"))
    if journey.outcome is not None:
        console.print(
            f"{journey.outcome}: {journey.reason}" + (f" → memory {journey.memory_id}" if journey.memory_id else "")
        )
    if journey.parts:
        _print_parts(client, journey)
    if journey.lesson is not None:
        console.print(f"{journey.lesson.outcome}: {journey.lesson.reason}")
    if journey.extracted is not None and journey.extracted.concepts:
        _print_concepts(journey.extracted, journey.noted)
    for rival, claims in journey.compared.contradicted.items() if journey.compared else ():
        console.print(styled(("contradicts", "yellow"), f" {short_id(rival)}: {claims}"))
    if journey.cancelled:
        console.print(styled(("cancelled", "yellow"), f" {moment(journey.cancelled.at)}: {journey.cancelled.why}"))
    if journey.dead:
        tried = f" ({journey.dead.reason}, {journey.dead.tries} tries): {journey.dead.error}"
        console.print(styled(("given up", "red"), tried))
        kept = journey.dead.entry.id in client.dead_letters
        advice = f"`memshare dead retry {journey.dead.entry.id}` tries it again." if kept else "It was dropped."
        console.print(advice, style="dim")


def _print_standard(journey: Journey) -> None:
    asked = f"question · model: {journey.model}" if journey.what == "standard answer" else "its question"
    if journey.what == "standard answer" and not journey.prompt:
        console.print("A standard answer: its agent is asked for a question that it could answer.", style="dim")
    else:
        console.print(panel(journey.prompt, asked, "dim"))
    console.print(panel(journey.answer or "", "standard answer"))


def _print_memories(journey: Journey) -> None:
    if not journey.memories:
        console.print("No memory was shown.", style="dim")
        return
    rows = [(one.id, f"{one.similarity:.3f}", _share(one)) for one in journey.memories]
    console.print(table("memory shown", "similarity", "share in the answer", rows=rows))
    unproven = ", ".join(short_id(one.id) for one in journey.memories if not one.proven)
    if unproven:
        console.print(f"Unproven, as too little speaks for who submitted it: {unproven}.", style="dim")


def _print_withheld(client: Client, withheld: Shown) -> None:
    """The memory by its id and its first words, if they can be read now: a trace is told without its pool, too."""
    try:
        found = client.memories.page(Where(ids=[withheld.id]), 1).memories
    except TryAgain:
        found = ()
    words = f" «{short(found[0].key, 60)}»" if found else ""
    console.print(f"withheld at random: {short_id(withheld.id)}{words}", style="dim")


def _print_parts(client: Client, journey: Journey) -> None:
    rows = []
    for becomes, name in journey.parts.items():
        if not client.ledger.journey(str(name)):
            rows.append(("", "", "waits to be graded", str(name)))
            continue
        part = client.journey(str(name))
        score = f"{part.score.total:.1f}" if part.score else ""
        outcome = f"{part.outcome} {short_id(part.memory_id or becomes)}" if part.outcome else part.state
        rows.append((short(part.prompt, 60), score, outcome, str(name)))
    console.print(table("sub-question", "score", "outcome", "task", rows=rows))


def _print_concepts(extracted: Extracted, noted: NotedConcepts | None) -> None:
    names = dict.fromkeys(
        name for level in ("0", "-1", "1", "2", "3", "4") for name in extracted.concepts.get(level, ())
    )
    state = (
        "not yet written" if noted is None else "" if noted.outcome == "written" else f"not written: {noted.outcome}"
    )
    console.print(f"concepts: {', '.join(names)}" + (f" ({state})" if state else ""), soft_wrap=True)


def _share(shown: Shown) -> str:
    return "not judged" if shown.share is None else f"{shown.share:.0%}"


def _print_score(journey: Journey) -> None:
    score = journey.score
    assert score is not None
    verdict = ("accepted", "green") if score.accepted else ("not accepted", "yellow")
    console.print(
        styled(
            "\nScore ",
            (f"{score.total:.1f}", "bold"),
            f" of 100, threshold {score.threshold:.1f}: ",
            verdict,
            (f" (rubric {score.rubric} {score.rubric_version}, model: {score.model})", "dim"),
        )
    )
    rows = [
        (short(name.replace("_", " "), 40), f"{c.low:.1f} – {c.high:.1f}", f"{c.points:.1f}")
        for name, c in score.criteria.items()
    ]
    console.print(table("criterion", "range", "of", rows=rows))
