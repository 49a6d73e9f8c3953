"""`memshare memories untidy`: what of a pool a person may want to look at; nothing is changed."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Annotated

import typer
from rich.text import Text

from memshare.cli.options import Json, Pool, Rows
from memshare.client.client import Client
from memshare.extras import require
from memshare.terminal.console import console, errors, one_line, print_json, table
from memshare.terminal.ids import short_id
from memshare.terminal.memory_pages import say_unreadable, the_pool
from memshare_memory.memory import Memory
from memshare_memory.stores.store import Where


def untidy(
    pool: Pool = None,
    days: Annotated[int, typer.Option(min=0, help="Memories younger than this may still be of use.")] = 30,
    limit: Rows = 20,
    as_json: Json = False,
) -> None:
    """List memories that are nearly the same, of few words, or never shown to a graded task. It changes nothing.

    Example: memshare memories untidy --pool physics
    """
    require("memshare memories untidy", "concepts")
    from memshare_concepts.nearly_same import duplicates, never_of_use, thin
    from memshare_concepts.pool_graph import vectors_of

    with Client() as client:
        name = the_pool(client, pool)
        with errors.status(f"Looking through pool {name!r}…"):
            say_unreadable(client)
            memories, vectors = vectors_of(client.memories, client.memories.every(Where(pool=name, status="active")))
            same, short_ones = duplicates(memories, vectors), thin(memories)
            judged = {one.memory.id: one for one in client.memories.judge([memory.id for memory in memories])}
            unused = never_of_use(judged, time.time(), days)
    if as_json:
        print_json(
            {
                "duplicates": [one._asdict() for one in same],
                "thin": [one._asdict() for one in short_ones],
                "never_of_use": unused,
            }
        )
        return
    by_id = {memory.id: memory for memory in memories}
    _print(
        f"Nearly the same: {len(same):,}",
        ("cosine", "id", "and", "prompt"),
        [
            (f"{one.cosine:.3f}", short_id(one.memories[0]), short_id(one.memories[1]), _text(by_id[one.memories[0]]))
            for one in same[:limit]
        ],
    )
    _print(
        f"Of few words: {len(short_ones):,}",
        ("words", "usually", "id", "prompt"),
        [(one.words, f"{one.usual:g}", short_id(one.memory), _text(by_id[one.memory])) for one in short_ones[:limit]],
    )
    _print(
        f"In {days} days shown to no task that was graded: {len(unused):,}",
        ("id", "prompt"),
        [(short_id(one), _text(by_id[one])) for one in unused[:limit]],
    )
    console.print("`memshare memories show ID` shows one whole, `edit` and `forget` change it.", style="dim")


def _print(title: str, columns: tuple[str, ...], rows: Iterable[Iterable[object]]) -> None:
    console.print(table(*columns, rows=rows, title=title))


def _text(memory: Memory) -> Text:
    return one_line(memory.key)
