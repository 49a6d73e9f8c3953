"""`memshare know`: statements that agents are shown as knowledge."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer
from rich.progress import track

from memshare.broker.errors import BadInput, GiveUp
from memshare.broker.wire.checking import checked
from memshare.client import Client
from memshare.commands.change_memories import login_name
from memshare.commands.options import Json
from memshare.console import console, errors, print_json, print_text, short, styled, table
from memshare.memory_ids import find_memory, short_id
from memshare.memory_pages import as_json as json_of
from memshare.memory_pages import credibility_of, require_pool
from memshare.memory_service.curate.requests import Edit, Forget, NewMemory
from memshare.memory_service.door.client import BATCH
from memshare.memory_service.memory import KNOWLEDGE
from memshare.memory_service.stores.store import Where

app = typer.Typer(
    help="Knowledge: statements that agents are shown, and what they have been worth.", no_args_is_help=True
)

LONGEST_STATEMENT = 2_000  # characters

KnowledgeId = Annotated[
    str, typer.Argument(metavar="ID", help="An id that `memshare know list` shows: its first 8 digits, or all.")
]
Pool = Annotated[str, typer.Option(help="The pool.")]


@app.command()
def add(
    text: Annotated[str, typer.Argument(help="The statement.")],
    about: Annotated[str | None, typer.Option(help="The question that it answers; it is found by it.")] = None,
    pool: Pool = "reasoning",
    submitter: Annotated[str, typer.Option(help="Who says so.")] = "anonymous",
    as_json: Json = False,
) -> None:
    """Add a statement and print its id.

    Example: memshare know add "The museum is closed on Mondays." --about "When is the museum open?"
    """
    client = Client()
    require_pool(client, pool)
    [added] = client.memories.add([_statement(text, about, pool, submitter)])
    print_json({"id": str(added)}) if as_json else print_text(str(added))


@app.command()
def update(
    memory_id: KnowledgeId,
    text: Annotated[str, typer.Argument(help="What it says from now on.")],
    as_json: Json = False,
) -> None:
    """Change a statement: it keeps its id and its history, and has to earn its credibility anew.

    Example: memshare know update 1c6f… "The museum is closed on Tuesdays."
    """
    client = Client()
    change = checked(Edit, "The statement", id=_statement_id(client, memory_id), answer=text, by=login_name())
    memory = client.memories.edit(change)
    print_json(memory.model_dump(mode="json")) if as_json else console.print(f"Changed {short_id(memory.id)}.")


@app.command()
def delete(memory_id: KnowledgeId, as_json: Json = False) -> None:
    """Delete a statement: it is in no prompt from the next task on. `memories restore` brings it back for 30 days.

    Example: memshare know delete 1c6f…
    """
    client = Client()
    found = _statement_id(client, memory_id)
    forgotten = client.memories.forget(Forget(ids=(found,)))
    if as_json:
        print_json({"deleted": [str(one) for one in forgotten]})
    else:
        name = short_id(found)
        console.print(f"Deleted {name}. `memshare memories restore {name}` brings it back.")


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
            short(one.memory.prompt or "–", 25),
            short(one.memory.answer, 30),
        )
        for one in found
    ]
    console.print(table("credibility", "id", "about", "statement", rows=rows) if rows else f"Pool {pool!r} has none.")


@app.command()
def why(memory_id: KnowledgeId, as_json: Json = False) -> None:
    """Show what stands behind a statement: who said it, what it said before, what it was worth, what contradicts it.

    Example: memshare know why 1c6f…
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
    if memory.prompt:
        console.print(f"About: {memory.prompt}")
    for revision in memory.history:
        by = f", when {revision.by} changed it" if revision.by else ""
        said = f"Until {_day(revision.until)}{by}: {revision.answer}"
        console.print(said, style="dim")
    console.print(f"Credibility {credibility_of(judged)} after {judged.credibility.credits} answers that used it.")
    for rival in rivals:
        console.print(styled(("Contradicted", "yellow"), f" ({credibility_of(rival)}): {rival.memory.answer}"))
    console.print(f"{len(children)} memories were written with it.")


@app.command("import")
def import_documents(
    files: Annotated[list[Path], typer.Argument(help="Text, Markdown, HTML and PDF; each paragraph is a statement.")],
    pool: Pool = "reasoning",
    submitter: Annotated[str, typer.Option(help="Who says so.")] = "anonymous",
    as_json: Json = False,
) -> None:
    """Add every paragraph of some documents as a statement; twice is the same as once.

    Example: memshare know import handbook.txt
    """
    client = Client()
    require_pool(client, pool)
    statements = [_statement(text, None, pool, submitter) for file in files for text in _paragraphs(file)]
    parts = [statements[start : start + BATCH] for start in range(0, len(statements), BATCH)]
    ids = [
        str(one)
        for part in track(parts, "Importing", console=errors, transient=True)
        for one in client.memories.add(part)
    ]
    print_json({"ids": ids}) if as_json else console.print(f"Imported {len(ids)} statements.")


def _paragraphs(file: Path) -> list[str]:
    """The paragraphs of a document's main text; long ones are cut where a sentence ends."""
    # What reads HTML and PDF takes a second to import, so it is imported where it is used.
    from memshare.agents.reasoning.sources import pieces
    from memshare.agents.reasoning.sources.documents import SUFFIXES
    from memshare.agents.reasoning.sources.text_of import page_of

    kind = SUFFIXES.get(file.suffix.lower())
    if kind is None:
        raise BadInput(f"{str(file)!r} is no document: expected a file that ends with one of {', '.join(SUFFIXES)}.")
    try:
        text = page_of(str(file), file.read_bytes(), kind).text
    except OSError as error:
        raise BadInput(f"{str(file)!r} cannot be read: {error.strerror}.") from error
    except GiveUp as error:
        raise BadInput(str(error)) from error
    parts = [" ".join(part.split()) for part in text.split("\n" if kind == "html" else "\n\n")]
    return [piece for part in parts for piece in pieces(part, LONGEST_STATEMENT)]


def _statement(text: str, about: str | None, pool: str, submitter: str) -> NewMemory:
    fields = {"pool": pool, "prompt": about, "answer": text, "submitter": submitter}
    return checked(NewMemory, "The statement", kind=KNOWLEDGE, new_pool=True, **fields)


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
