"""`memshare memories add` and `edit`: memories by hand."""

from __future__ import annotations

from typing import Annotated

import typer

from memshare.cli.curate.forgetting import say_stale, written_from
from memshare.cli.options import By, Json, MemoryId, Pool, Submitter, login_name
from memshare.client.client import Client
from memshare.client.regrading import grade_again, grader_of
from memshare.terminal.console import console, print_json, print_text
from memshare.terminal.ids import find_memory, short_id
from memshare.terminal.memory_pages import the_pool
from memshare_broker.errors import BadInput
from memshare_broker.wire.checking import checked
from memshare_memory.curate.requests import Edit, NewMemory
from memshare_memory.memory import KNOWLEDGE


def add(
    answer: Annotated[str, typer.Argument(help="The answer, or a statement.")],
    pool: Pool = None,
    prompt: Annotated[str | None, typer.Option(help="The task it answers; leave it out for a statement.")] = None,
    about: Annotated[str | None, typer.Option(help="The question that a statement answers; it is found by it.")] = None,
    kind: Annotated[str | None, typer.Option(help="The kind of task.")] = None,
    submitter: Submitter = "anonymous",
    score: Annotated[float | None, typer.Option(min=0, max=100, help="Its score, where it is known.")] = None,
    as_json: Json = False,
) -> None:
    """Add a memory by hand and print its id. Without a prompt it is a statement, which agents are shown as knowledge.

    Example: memshare memories add "Paris is the capital of France." --pool plan

    Example: memshare memories add "The museum is closed on Mondays." --about "When is it open?" --pool reasoning
    """
    if about is not None:
        if prompt is not None or kind is not None:
            raise BadInput("--about is for a statement: give it without --prompt and --kind.")
        prompt, kind = about, KNOWLEDGE
    client = Client()
    pool = the_pool(client, pool)
    fields = {"pool": pool, "prompt": prompt, "answer": answer, "kind": kind, "submitter": submitter, "score": score}
    [added] = client.memories.add([checked(NewMemory, "The memory", new_pool=True, **fields)])
    print_json({"id": str(added)}) if as_json else print_text(str(added))


def edit(
    memory_id: MemoryId,
    prompt: Annotated[str | None, typer.Option(help="A new prompt.")] = None,
    answer: Annotated[str | None, typer.Option(help="A new answer.")] = None,
    status: Annotated[str | None, typer.Option(help="active, or hidden: stored, but not shown to agents.")] = None,
    grade: Annotated[
        bool, typer.Option("--grade", help="Grade it again; it is hidden if the score is too low.")
    ] = False,
    by: By = None,
    as_json: Json = False,
) -> None:
    """Change a memory: it keeps its id, and `memories show` has what it said before and who changed it.

    With another text it has no score and no model any more, and has to earn its credibility anew. What was written
    from a statement is stale then: agents are not shown it until it is graded again or kept.

    Example: memshare memories edit 1c6fa3b2 --answer "It opens at ten." --grade
    """
    if prompt is answer is status is None and not grade:
        raise BadInput("Say what to change: --prompt, --answer, --status, or --grade.")
    client = Client()
    found = find_memory(client, memory_id)
    change = checked(Edit, "The change", id=found, by=by or login_name(), prompt=prompt, answer=answer, status=status)
    if grade:
        grader_of(client, client.memories.get(found), "--grade")  # before anything is changed
    stale = 0 if prompt is answer is None else written_from(client, [found])
    memory = client.memories.edit(change)
    graded = grade_again(client, memory, memory.submitter) if grade else None
    if as_json:
        print_json(memory.model_dump(mode="json") | {"stale": stale} | ({"grading": graded} if graded else {}))
        return
    console.print(f"Changed {short_id(memory.id)}.")
    say_stale(stale)
    if graded:
        console.print(f"It is being graded: memshare trace {graded}")
