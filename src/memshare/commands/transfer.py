"""`memshare memories export` and `import`: the pool as a file of JSON lines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from memshare.client import Client
from memshare.commands.options import Json
from memshare.console import console, errors, print_json
from memshare.files import new_file
from memshare.memory_pages import require_pool
from memshare.memory_service.door.client import BATCH
from memshare.memory_service.stores.store import Where
from memshare.pairs import read_pairs


def export(
    file: Annotated[Path, typer.Argument(help="Where to write JSON lines.")],
    pool: Annotated[str | None, typer.Option(help="Only this pool.")] = None,
    as_json: Json = False,
) -> None:
    """Write memories to a file that `import` reads.

    Example: memshare memories export pool.jsonl
    """
    client = Client()
    require_pool(client, pool)
    by_pool = client.memories.stats().by_pool
    total = by_pool.get(pool, 0) if pool else sum(by_pool.values())
    count = 0
    with Progress(console=errors, transient=True) as progress, new_file(file) as out:
        bar = progress.add_task("Exporting", total=total)
        for memory in client.memories.every(Where(pool=pool)):
            out.write(memory.model_dump_json() + "\n")
            count += 1
            progress.advance(bar)
    print_json({"exported": count, "file": file}) if as_json else console.print(f"Exported {count} memories to {file}.")


def import_memories(
    file: Annotated[Path, typer.Argument(help="JSON lines: exported memories, or {pool, prompt, answer, …}.")],
    pool: Annotated[str | None, typer.Option(help="The pool of lines that name none.")] = None,
    as_json: Json = False,
) -> None:
    """Bring memories in from a file; twice is the same as once. One wrong line, and nothing is imported.

    Example: memshare memories import pool.jsonl
    """
    client = Client()
    require_pool(client, pool)
    whole, pairs = read_pairs(file, pool, {card.name: card.pool for card in client.agents().values()})
    with Progress(console=errors, transient=True) as progress:
        bar = progress.add_task("Importing", total=len(whole) + len(pairs))
        for start in range(0, len(whole), BATCH):
            progress.advance(bar, len(client.memories.restore(whole[start : start + BATCH])))
        for start in range(0, len(pairs), BATCH):
            progress.advance(bar, len(client.memories.add(pairs[start : start + BATCH])))
    count = len(whole) + len(pairs)
    print_json({"imported": count}) if as_json else console.print(f"Imported {count} memories.")
