"""`memshare memories export` and `import`: the pool as a file of JSON lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer
from rich.progress import Progress

from memshare.broker.errors import BadInput
from memshare.client import Client
from memshare.commands.options import Json
from memshare.console import console, errors, print_json
from memshare.exports import note_export
from memshare.files import new_file
from memshare.local.own_redis import connected
from memshare.memory_pages import counted, pools_known, require_pool
from memshare.memory_service.door.client import BATCH
from memshare.memory_service.memory import memory_id
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
    with connected(client.settings) as redis_client:
        note_export(redis_client, file)  # so that what is purged can be taken out of it
    print_json({"exported": count, "file": file}) if as_json else console.print(f"Exported {counted(count)} to {file}.")


def import_memories(
    file: Annotated[Path, typer.Argument(help="JSON lines: exported memories, or {pool, prompt, answer, …}.")],
    pool: Annotated[str | None, typer.Option(help="The pool of lines that name none.")] = None,
    new_pool: Annotated[bool, typer.Option("--new-pool", help="Begin the pools that nobody has yet.")] = False,
    as_json: Json = False,
) -> None:
    """Bring memories in from a file; twice is the same as once. One wrong line, and nothing is imported.

    Exported memories come back as they were exported; of other lines, those that the pool has already stay as they are.

    Example: memshare memories import pool.jsonl
    """
    client = Client()
    whole, pairs = read_pairs(file, pool, {card.name: card.pool for card in client.agents().values()})
    if not new_pool:
        _require_pools(client, Counter([one.pool for one in whole] + [one.pool for one in pairs]))
    ids = [one.id for one in whole] + [memory_id(one.pool, one.prompt, one.answer) for one in pairs]
    new = _count_new(client, ids)
    with Progress(console=errors, transient=True) as progress:
        bar = progress.add_task("Importing", total=len(ids))
        for start in range(0, len(whole), BATCH):
            progress.advance(bar, len(client.memories.restore(whole[start : start + BATCH])))
        for start in range(0, len(pairs), BATCH):
            progress.advance(bar, len(client.memories.add(pairs[start : start + BATCH])))
    if as_json:
        print_json({"imported": len(ids), "new": new, "there": len(ids) - new})
    else:
        console.print(f"Imported {counted(len(ids))}: {new:,} new, {len(ids) - new:,} were there already.")


def _count_new(client: Client, ids: Sequence[UUID]) -> int:
    """How many of these memories the pool does not have yet; one that is named twice counts once."""
    wanted = list(dict.fromkeys(ids))
    parts = [wanted[start : start + BATCH] for start in range(0, len(wanted), BATCH)]
    return len(wanted) - sum(len(client.memories.page(Where(ids=part), BATCH).memories) for part in parts)


def _require_pools(client: Client, lines: Mapping[str, int]) -> None:
    """Raises `BadInput` for pools that no agent has and no memory is in; `lines` is how many name each."""
    known = pools_known(client)
    unknown = sorted(set(lines) - known)
    if unknown:
        names = ", ".join(f"{one!r} ({lines[one]:,} lines)" for one in unknown[:5])
        raise BadInput(
            f"Nothing was imported: nobody has the pool {names}. There are: {', '.join(sorted(known))}. --new-pool"
            " begins it."
        )
