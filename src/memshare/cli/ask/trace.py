"""`memshare result`, `trace` and `cancel`: what became of a task, or of a standard answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

import typer
from rich.text import Text
from rich.tree import Tree

from memshare.cli.operating import operating
from memshare.cli.options import Json
from memshare.client.client import Client
from memshare.client.errors import NotFound
from memshare.client.journey import Journey, asked_of, kept_for
from memshare.client.rest.calls.journeys import Cancelled, PromptReply
from memshare.operations import journeys
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller
from memshare.operations.journeys import journey_reply, sent_prompt
from memshare.terminal.console import (
    console,
    errors,
    moment,
    one_line,
    panel,
    print_json,
    print_text,
    short,
    styled,
    table,
    until,
)
from memshare.terminal.ids import counted, find_task, short_id, shorten_ids, whose_answer
from memshare_broker.delivery.hops import ANSWER, SCORE, SETTLE
from memshare_broker.errors import BadInput, MemshareError, TryAgain, Unreachable
from memshare_broker.wire.lessons import Extracted, NotedConcepts
from memshare_broker.wire.messages import Shown, Step
from memshare_memory.stores.store import Where

READ_SHOWN = 4
TO_COME = {ANSWER.name: "answer", SCORE.name: "grade", SETTLE.name: "whether it is remembered"}


def draw(question: str, steps: Sequence[Step]) -> Tree:
    """The tree of a run; a step stands under the step that called it, in the order in which they ran."""
    root = Tree(styled((short(question, 100), "bold")))
    branches: dict[int | None, Tree] = {None: root}
    for step in steps:
        branches[step.number] = branches.get(step.parent, root).add(_label(step))
    return root


def _label(step: Step) -> Text:
    tokens = step.usage.prompt_tokens + step.usage.completion_tokens
    cost = f" · {tokens:,} tokens · {step.model}" if step.model else ""
    label = styled((f"{step.number} {step.operator}", "bold cyan"), (f"  {step.seconds:.1f} s{cost}", "dim"))
    knowledge = ", ".join(str(one) for one in step.knowledge)
    rows = {
        "asked": asked_of(step),
        "read": _names(step.read),
        "left out for want of room": _names(step.left_out),
        "said": step.said,
        "knowledge": knowledge,
    }
    for name, text in rows.items():
        if text:
            label.append_text(styled((f"\n{name}: ", "dim"), text))
    return label


def _names(names: Sequence[str]) -> str:
    more = f"; and {len(names) - READ_SHOWN} more" if len(names) > READ_SHOWN else ""
    return "; ".join(names[:READ_SHOWN]) + more


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
        errors.print(whose_answer(journey.quoted, journey.notes), style="yellow")
    if (said := journey.opinion) is not None and said.is_wrong:
        errors.print(f"{said.by} said that the answer is wrong.", style="yellow")
    if as_json:
        print_json({"id": task_id, **client.ledger.journey(task_id)["answer"]})
    else:
        print_text(journey.answer)


def trace(
    task_id: TaskId,
    tree: Annotated[bool, typer.Option("--tree", help="Draw the steps of a reasoning agent's run.")] = False,
    prompt: Annotated[bool, typer.Option("--prompt", help="Show the prompt as the agent sent it.")] = False,
    reasoning: Annotated[bool, typer.Option("--reasoning", help="Show how the model came to its answer.")] = False,
    as_json: Json = False,
) -> None:
    """Show the journey of a task: answer, memories shown, score, and what was remembered.

    Example: memshare trace 1c6fa3b2 --tree
    """
    client = Client()
    task_id = find_task(client, task_id)
    journey = client.journey(task_id, search=True)
    if prompt:
        sent = sent_prompt(client, journey)
        print_json(sent.model_dump(mode="json")) if as_json else _print_prompt(sent)
        return
    if as_json:
        with operating() as (backend, _):
            print_json(journey_reply(backend, journey).model_dump(mode="json") | {"task_id": task_id})
        return
    if reasoning:
        unknown = "Nothing is known of how its model came to the answer." if journey.answer else "It has no answer yet."
        print_text(journey.reasoning or unknown)
        return
    dropped = f"Its details were kept for {kept_for(client.settings.traces_days)} (MEMSHARE_KEEP_TRACES_DAYS)."
    if tree:
        if journey.details_dropped:
            raise BadInput(f"The steps of the task {task_id!r} are gone. {dropped}")
        if not journey.steps:
            raise BadInput(f"The task {task_id!r} has no steps: it is not answered yet, or its agent takes none.")
        console.print(draw(journey.prompt, journey.steps))
        return
    of_kind = f" · {journey.kind}" if journey.kind else ""
    about = f"{of_kind} · {journey.state} · by {journey.submitter} · {moment(journey.submitted)}"
    console.print(styled((journey.agent, "bold"), about))
    if journey.details_dropped:
        console.print(f"{dropped} Steps, ranges of the grade, lesson, concepts and times are gone.", style="yellow")
    if journey.part_of is not None:
        console.print(f"A sub-question of the task {short_id(journey.part_of)}.", style="dim")
    if journey.what == "task":
        console.print(panel(journey.prompt, "prompt", "dim"))
        if journey.answer is not None:
            console.print(panel(journey.answer, f"answer · model: {journey.model or 'not told'}"))
            if journey.quoted is not None:
                console.print(whose_answer(journey.quoted), style="yellow")
            for one in journey.notes:
                console.print(shorten_ids(one), style="yellow")
            if journey.reasoning:
                length = f"{counted(len(journey.reasoning), 'character')}"
                how = f"`memshare trace {short_id(task_id)} --reasoning` shows them."
                console.print(f"The model reasoned before it answered, in {length}; {how}", style="dim")
            _print_memories(client, journey)
    else:
        _print_standard(journey)
    if journey.steps:
        console.print(
            f"{counted(len(journey.steps), 'step')}; `memshare trace {short_id(task_id)} --tree` draws them.",
            style="dim",
        )
    if journey.score is not None:
        _print_score(journey)
    if (said := journey.opinion) is not None:
        hides = ", which hides what it became" if said.hides else ""
        told = f"{said.by} said that the answer is {said.found} (feedback {said.reward:g})"
        also = counted(len(journey.also_hid), "memory that says so was", "memories that say so were")
        console.print(f"{told}{hides}{f'; {also} hidden with it' if journey.also_hid else ''}")
    if journey.waits is not None:
        console.print(styled(("waits", "yellow"), f" {until(journey.waits.until)}: {journey.waits.why}"))
    elif journey.message is not None:
        at_it = client.ledger.is_in_hand(journey.message)
        coming = [words for hop, words in TO_COME.items() if hop not in journey.hops]
        now = "A worker is at it" if at_it else "It waits in a queue"
        console.print(styled(("to come", "yellow"), f": {', '.join(coming)}. {now}."))
    if journey.verified is False:
        why = "its last step did not verify the answer" if journey.steps else "it is no answer"
        console.print(f"It ends here: {why}, so it is neither graded nor remembered.")
    if journey.outcome is not None:
        became = f" → memory {short_id(journey.memory_id)}" if journey.memory_id else ""
        console.print(f"{journey.outcome}: {shorten_ids(journey.reason or '')}{became}")
    if journey.parts:
        _print_parts(client, journey)
    if journey.lesson is not None:
        console.print(f"lesson {journey.lesson.outcome}: {shorten_ids(journey.lesson.reason)}")
    if journey.extracted is not None and journey.extracted.concepts:
        _print_concepts(journey.extracted, journey.noted)
    for rival, claims in journey.compared.contradicted.items() if journey.compared else ():
        console.print(styled(("contradicts", "yellow"), f" {short_id(rival)}: {claims}"))
    if journey.cancelled:
        console.print(styled(("cancelled", "yellow"), f" {moment(journey.cancelled.at)}: {journey.cancelled.why}"))
    if journey.dead:
        tried = f" ({journey.dead.reason}, {counted(journey.dead.tries, 'try')}): {journey.dead.error}"
        console.print(styled(("given up", "red"), tried))
        kept = journey.dead.entry.id in client.dead_letters
        letter = short_id(journey.dead.entry.id)
        advice = f"Mend that, then `memshare dead retry {letter}` tries it again." if kept else "It was dropped."
        console.print(advice, style="dim")
    if (by := journey.decided) is not None:
        others = f", chosen with {counted(by.others, 'other')}" if by.others else ""
        console.print(f"{by.did} by {by.by}, {moment(by.at)}{others}")


def _print_prompt(sent: PromptReply) -> None:
    for one in sent.changed:
        console.print(one, style="yellow")
    for turn in sent.turns:
        console.print(panel(turn.content, turn.role, "dim" if turn.role == "system" else "none"))


def _print_standard(journey: Journey) -> None:
    asked = f"question · model: {journey.model or 'not told'}" if journey.what == "standard answer" else "its question"
    if journey.what == "standard answer" and not journey.prompt:
        console.print("A standard answer: its agent is asked for a question that it could answer.", style="dim")
    else:
        console.print(panel(journey.prompt, asked, "dim"))
    console.print(panel(journey.answer or "", "its answer" if journey.what == "re-grading" else "standard answer"))


def _print_memories(client: Client, journey: Journey) -> None:
    """The memories by their first words, which a trace does without where the pool cannot be asked."""
    if not journey.memories:
        console.print("No memory was shown.", style="dim")
    helped = {one.id: _helped(one, journey.feedback.get(one.id)) for one in journey.memories}
    recalled = list(journey.memories)
    if journey.withheld is not None:
        recalled.append(journey.withheld)
        helped[journey.withheld.id] = "withheld at random"
    words = _first_words(client, list(helped))
    rows = [(short_id(one.id), f"{one.similarity:.3f}", helped[one.id], one_line(words[one.id])) for one in recalled]
    if rows:
        console.print(table("memory", "similarity", "helped", "first words", rows=rows))


def _first_words(client: Client, ids: list[UUID]) -> dict[UUID, str]:
    try:
        found = client.memories.page(Where(ids=ids), len(ids)).memories if ids else ()
    except TryAgain:
        return dict.fromkeys(ids, "–")
    return dict.fromkeys(ids, "forgotten since") | {memory.id: memory.key for memory in found}


def _helped(shown: Shown, feedback: float | None) -> str:
    share = "not judged" if shown.share is None else f"{shown.share:.0%} of the answer"
    told = "" if feedback is None else f", feedback {feedback:g}"
    return f"{share}{told}" if shown.proven else f"{share}{told}, unproven"


def _print_parts(client: Client, journey: Journey) -> None:
    rows = []
    for becomes, name in journey.parts.items():
        if not client.ledger.journey(str(name)):
            rows.append((short_id(str(name)), "", "waits to be graded", one_line("")))
            continue
        part = client.journey(str(name))
        score = f"{part.score.total:.1f}" if part.score else ""
        outcome = f"{part.outcome} {short_id(part.memory_id or becomes)}" if part.outcome else part.state
        rows.append((short_id(str(name)), score, outcome, one_line(part.prompt)))
    console.print(table("task", "score", "outcome", "sub-question", rows=rows))


def _print_concepts(extracted: Extracted, noted: NotedConcepts | None) -> None:
    names = dict.fromkeys(
        name for level in ("0", "-1", "1", "2", "3", "4") for name in extracted.concepts.get(level, ())
    )
    state = (
        "not yet written" if noted is None else "" if noted.outcome == "written" else f"not written: {noted.outcome}"
    )
    console.print(f"concepts: {', '.join(names)}" + (f" ({state})" if state else ""))


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
    if rows:
        console.print(table("criterion", "range", "of", rows=rows))


SAID = {
    "cancelled": "Cancelled {id}.",
    "running": "Cancelled {id}: a worker is at it, and goes on until this step is done; nothing follows it.",
    "ended": "Not cancelled: {id} had ended already. `memshare trace {id}` shows how.",
    "unknown": "Not cancelled: no task has the id {id}. Ids are those that `memshare submit` prints; what has ended is "
    "known for some days only (MEMSHARE_KEEP_DAYS).",
}


def cancel(
    task_ids: Annotated[
        list[str], typer.Argument(metavar="ID", help="Ids that `submit` printed, or the first 8 digits of each.")
    ],
    as_json: Json = False,
) -> None:
    """Cancel unfinished tasks: they are not started, or not graded and not remembered.

    Ends with status 1 when one of them could not be cancelled.

    Example: memshare cancel 1c6fa3b2 93abd01e
    """
    with operating() as (backend, caller):
        wanted = [find_task(backend.client, typed) for typed in task_ids]
        found = [_cancelled(backend, caller, one) for one in wanted]
    if as_json:
        print_json([{"id": one.id, "task_id": one.id, "outcome": one.outcome} for one in found])
    else:
        for one in found:
            shown = console if one.outcome in ("cancelled", "running") else errors
            shown.print(SAID[one.outcome].format(id=one.id))
    if any(one.outcome in ("ended", "unknown") for one in found):
        raise typer.Exit(1)


def _cancelled(backend: Backend, caller: Caller, task_id: str) -> Cancelled:
    try:
        return journeys.cancel(backend, caller, task_id)
    except NotFound:
        return Cancelled(id=task_id, outcome="unknown")
