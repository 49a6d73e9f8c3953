"""`memshare know`: statements that agents are shown as knowledge."""

from __future__ import annotations

import time
from typing import Annotated
from uuid import UUID

import typer

from memshare.cli.curate.before_forgetting import DryRun, WithChildren, Yes
from memshare.cli.curate.change_memories import login_name
from memshare.cli.curate.forgetting import Consent, RollBack, forget_these, say_stale
from memshare.cli.curate.know_import import import_documents, statement
from memshare.cli.options import Json
from memshare.client.client import Client
from memshare.extras import require
from memshare.terminal.console import console, one_line, print_json, print_text, styled, table
from memshare.terminal.memory_ids import find_memory, short_id
from memshare.terminal.memory_pages import as_json as json_of
from memshare.terminal.memory_pages import counted, credibility_of, require_pool
from memshare_broker.errors import BadInput
from memshare_broker.wire.checking import checked
from memshare_memory.curate.requests import Edit, Forget
from memshare_memory.stores.store import Where

app = typer.Typer(
    help="Knowledge: statements that agents are shown, and what they have been worth.",
    no_args_is_help=True,
    add_completion=False,
)
app.command("import")(import_documents)

KnowledgeId = Annotated[
    str, typer.Argument(metavar="ID", help="An id that `memshare know list` shows: its first 8 digits, or all.")
]
Pool = Annotated[str, typer.Option(help="The pool.")]


@app.command()
def add(
    text: Annotated[str, typer.Argument(help="The statement.")],
    about: Annotated[str | None, typer.Option(help="The question that it answers; it is found by it.")] = None,
    pool: Pool = "reasoning",
    submitter: Annotated[str, typer.Option(help="Name recorded as the submitter.")] = "anonymous",
    as_json: Json = False,
) -> None:
    """Add a statement and print its id.

    Example: memshare know add "The museum is closed on Mondays." --about "When is the museum open?"
    """
    client = Client()
    require_pool(client, pool)
    [added] = client.memories.add([statement(text, about, pool, submitter)])
    print_json({"id": str(added)}) if as_json else print_text(str(added))


@app.command()
def update(
    memory_id: KnowledgeId,
    text: Annotated[str, typer.Argument(help="What it says from now on.")],
    with_children: Annotated[
        bool, typer.Option("--with-children", help="Forget what was written from what it said before.")
    ] = False,
    roll_back: RollBack = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Change a statement: it keeps its id and its history, and has to earn its credibility anew.

    What was written from what it said before is stale: agents are not shown it until it is graded again or kept.

    Example: memshare know update 1c6fa3b2 "The museum is closed on Tuesdays."
    """
    if roll_back:
        require("memshare know update --roll-back", "trainer")
    client = Client()
    change = checked(Edit, "The statement", id=_statement_id(client, memory_id), answer=text, by=login_name())
    children = Forget(ids=(change.id,), only_children=True)
    derived = client.memories.forget_preview(children).memories
    done = None
    if with_children and derived:
        done = forget_these(client, children, roll_back, Consent(yes), as_json=as_json)
    memory = client.memories.edit(change)
    if as_json:
        told = {"forgotten": done["forgotten"], "retrievers": done["retrievers"]} if done else {"stale": derived}
        print_json(memory.model_dump(mode="json") | told)
        return
    console.print(f"Changed {short_id(memory.id)}.")
    if done:
        console.print(f"Forgot {counted(len(done['forgotten']))} written from what it said before.")
    else:
        say_stale(derived)


@app.command()
def delete(
    memory_id: KnowledgeId,
    with_children: WithChildren = False,
    roll_back: RollBack = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Delete a statement: it is in no prompt from the next task on. `memories restore` brings it back for 30 days.

    What was written from it is stale: agents are not shown it until it is graded again or kept.

    Example: memshare know delete 1c6fa3b2 --with-children
    """
    if roll_back:
        require("memshare know delete --roll-back", "trainer")
    client = Client()
    found = _statement_id(client, memory_id)
    which = Forget(ids=(found,), with_children=with_children)
    consent = Consent(yes, dry_run=dry_run, needed=with_children)
    done = forget_these(client, which, roll_back, consent, as_json=as_json)
    if done is None:
        return
    if as_json:
        print_json({"deleted": done.pop("forgotten"), **done})
        return
    name = short_id(found)
    more = len(done["forgotten"]) - 1
    also = f" and {more:,} written from it" if more else ""
    them = "them" if more else "it"
    console.print(f"Deleted {name}{also}. `memshare memories restore` brings {them} back.")
    say_stale(done["stale"])


@app.command("list")
def list_knowledge(pool: Pool = "reasoning", as_json: Json = False) -> None:
    """List statements, the most credible first.

    Example: memshare know list --pool reasoning
    """
    client = Client()
    require_pool(client, pool)
    brought = client.memories.every(Where(pool=pool, without_task=True))
    found = client.memories.judge([one.id for one in brought if one.is_statement])
    found.sort(key=lambda one: -one.credibility.p)
    if as_json:
        print_json([json_of(one) for one in found])
        return
    rows = [
        (
            credibility_of(one),
            short_id(one.memory.id),
            one_line(one.memory.prompt or "–"),
            one_line(one.memory.answer),
        )
        for one in found
    ]
    console.print(table("credibility", "id", "about", "statement", rows=rows) if rows else f"Pool {pool!r} has none.")


@app.command()
def why(memory_id: KnowledgeId, as_json: Json = False) -> None:
    """Explain a statement: who said it, what it said before, its credibility, what contradicts it.

    Example: memshare know why 1c6fa3b2
    """
    client = Client()
    judged = client.memories.judge_one(find_memory(client, memory_id))
    rivals = client.memories.judge(judged.conflicts)
    children = list(client.memories.every(Where(parents=[judged.memory.id])))
    if as_json:
        conflicts = [json_of(rival) for rival in rivals]
        print_json(json_of(judged) | {"conflicts": conflicts, "children": [str(child.id) for child in children]})
        return
    memory = judged.memory
    console.print(memory.answer, style="bold")
    console.print(f"By {memory.submitter}, {_day(memory.created)}; pool {memory.pool}, {memory.status}.")
    if memory.source:
        console.print(f"Read in {memory.source}.")
    if memory.prompt:
        console.print(f"About: {memory.prompt}")
    for revision in memory.history:
        by = f", when {revision.by} changed it" if revision.by else ""
        said = f"Until {_day(revision.until)}{by}: {revision.answer}"
        console.print(said, style="dim")
    console.print(f"Credibility {credibility_of(judged)} after {judged.credibility.credits} answers that used it.")
    for rival in rivals:
        console.print(styled(("Contradicted", "yellow"), f" ({credibility_of(rival)}): {rival.memory.answer}"))
    stale = sum(child.status == "stale" for child in children)
    console.print(f"{len(children)} memories were written with it{f', of which {stale} are stale' if stale else ''}.")


def _statement_id(client: Client, typed: str) -> UUID:
    """The id of a statement; raises `BadInput` for a memory that is the answer to a task."""
    memory = client.memories.get(find_memory(client, typed))
    if not memory.is_statement:
        raise BadInput(
            f"{str(memory.id)!r} is no statement, but the answer to a task: `memshare memories edit` and `memories"
            " forget` take any memory."
        )
    return memory.id


def _day(seconds: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(seconds))
