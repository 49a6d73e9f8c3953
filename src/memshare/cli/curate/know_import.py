"""`memshare know import`: the paragraphs of documents as statements."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import track

from memshare.cli.options import Json
from memshare.client.client import Client
from memshare.client.pools import new_ids
from memshare.terminal.console import console, errors, print_json
from memshare.terminal.memory_pages import require_pool
from memshare_broker.errors import BadInput, GiveUp
from memshare_broker.wire.checking import checked
from memshare_memory.curate.requests import NewMemory
from memshare_memory.door.client import BATCH
from memshare_memory.memory import KNOWLEDGE, memory_id

LONGEST_STATEMENT = 2_000  # characters


def import_documents(
    files: Annotated[list[Path], typer.Argument(help="Text, Markdown, HTML and PDF; each paragraph is a statement.")],
    pool: Annotated[str, typer.Option(help="The pool.")] = "reasoning",
    submitter: Annotated[str, typer.Option(help="Name recorded as the submitter.")] = "anonymous",
    as_json: Json = False,
) -> None:
    """Add every paragraph of some documents as a statement; twice is the same as once.

    Example: memshare know import handbook.txt
    """
    client = Client()
    require_pool(client, pool)
    statements = [statement(text, None, pool, submitter) for file in files for text in _paragraphs(file)]
    parts = [statements[start : start + BATCH] for start in range(0, len(statements), BATCH)]
    new = len(new_ids(client, [memory_id(one.pool, one.prompt, one.answer) for one in statements]))
    ids = [
        str(one)
        for part in track(parts, "Importing", console=errors, transient=True)
        for one in client.memories.add(part)
    ]
    if as_json:
        print_json({"ids": ids, "new": new})
    else:
        console.print(f"Imported {len(ids):,} statements: {new:,} new, {len(ids) - new:,} were there already.")


def _paragraphs(file: Path) -> list[str]:
    """The paragraphs of a document's main text; long ones are cut where a sentence ends."""
    # What reads HTML and PDF takes a second to import, so it is imported where it is used.
    from memshare_agents.reasoning.sources import pieces
    from memshare_agents.reasoning.sources.documents import SUFFIXES
    from memshare_agents.reasoning.sources.extract_text import page_of

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


def statement(text: str, about: str | None, pool: str, submitter: str) -> NewMemory:
    """A statement, about the question that it answers if one is given; raises `BadInput` for a text that is none."""
    fields = {"pool": pool, "prompt": about, "answer": text, "submitter": submitter}
    return checked(NewMemory, "The statement", kind=KNOWLEDGE, new_pool=True, **fields)
