"""`memshare concepts show`: a concept with its neighbours and memories, or the concepts of a memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from memshare.cli.concepts.open_concepts import OpenedConcepts, concept_named, opened
from memshare.cli.options import Json, Pool, Rows
from memshare.terminal.console import console, panel, print_json, short, styled, table
from memshare.terminal.ids import counted, find_memory, prompt_and_answer, short_id, text_columns
from memshare_broker.errors import BadInput

if TYPE_CHECKING:
    from memshare_concepts.graph.concept_graph import ConceptLink
    from memshare_concepts.pool_graph import PoolConcepts

GENERAL = 0.5
"""A neighbour is more general where its level is so much higher on average; with less difference it stands beside."""


def show(
    what: Annotated[str, typer.Argument(metavar="NAME|MEMORY", help="A concept, or the id of a memory.")],
    pool: Pool = None,
    steps: Annotated[
        int, typer.Option(min=1, max=2, help="2: the vector of a concept reaches those that share no memory with it.")
    ] = 1,
    limit: Rows = 10,
    as_json: Json = False,
) -> None:
    """Show a concept: its memories, and what is more general and more specific. Or show the concepts of a memory.

    Example: memshare concepts show "Neural Network" --pool physics

    Example: memshare concepts show 1c6fa3b2
    """
    with opened("show", pool) as found:
        memory = None if found.concepts.graph.count(what) else _memory(found, what)
        if memory is not None:
            show_memory(found.concepts, memory, limit, as_json=as_json)
        else:
            show_concept(found.concepts, what, limit, steps=steps, as_json=as_json)


def _memory(found: OpenedConcepts, typed: str) -> UUID | None:
    """The memory that is meant; None where what was typed is no id."""
    try:
        memory = find_memory(found.client, typed)
    except BadInput:
        return None
    if memory in found.concepts.memories:
        return memory
    there = found.client.memories.get(memory)
    if there.pool != found.concepts.pool:
        raise BadInput(f"Memory {typed!r} is in pool {there.pool!r}, not {found.concepts.pool!r}: give --pool.")
    if not there.concepts:
        raise BadInput(f"The concepts of memory {typed!r} are not known yet: `memshare concepts extract` names them.")
    raise BadInput(f"Memory {typed!r} is {there.status}, and only active memories are in the graph of concepts.")


def show_concept(concepts: PoolConcepts, typed: str, limit: int, *, steps: int = 1, as_json: bool) -> None:
    """Print a concept of a pool. Raises `BadInput` where it has none of that name."""

    graph = concepts.graph
    name = concept_named(graph, typed, concepts.pool)
    links, holders = graph.links(name), graph.memories(name)
    merged = [
        merge.of for merge in concepts.aliases.merges() if concepts.aliases.key(merge.of) == graph.index.key(name)
    ]
    neighbours = {
        "more general": [link for link in links if link.abstraction >= GENERAL],
        "beside": [link for link in links if -GENERAL < link.abstraction < GENERAL],
        "more specific": [link for link in links if link.abstraction <= -GENERAL],
    }
    if as_json:
        found: dict[str, Any] = {
            "concept": name, "pool": concepts.pool, "count": len(holders), "merged": merged,
            **{where.replace(" ", "_"): [vars(link) for link in of] for where, of in neighbours.items()},
            "memories": holders, "vector": graph.vector(name, steps=steps),
        }  # fmt: skip
        print_json(found)
        return
    topic_of = sum(graph.topic(memory) == name for memory in holders)
    console.print(styled((name, "bold"), f" · pool {concepts.pool} · {counted(len(holders))}, the topic of {topic_of}"))
    if merged:
        console.print(f"Merged into it: {', '.join(merged)}.", style="dim")
    for where, of in neighbours.items():
        if of:
            columns = ("concept", "memories of both", "strength", "significance", "weight")
            console.print(table(*columns, rows=map(_row, of[:limit]), title=f"\n{where.capitalize()}: {len(of):,}"))
    rows = [(short_id(one), *prompt_and_answer(concepts.memories[one])) for one in holders[:limit]]
    console.print(table("id", *text_columns(), rows=rows, title=f"\nMemories: {len(holders):,}"))
    _print_vector(graph.vector(name, steps=steps), limit)


def _row(link: ConceptLink) -> tuple[str, ...]:
    return (
        short(link.name, 40),
        f"{link.count:,}",
        f"{link.strength:.2f}",
        f"{link.significance:.2f}",
        f"{link.weight:.3f}",
    )


def show_memory(concepts: PoolConcepts, memory: UUID, limit: int, *, as_json: bool) -> None:
    """Print the concepts of a memory of the graph."""
    graph, one = concepts.graph, concepts.memories[memory]
    levels, vector = graph.levels(memory), graph.memory_vector(memory)
    if as_json:
        counts = {name: graph.count(name) for name in levels}
        print_json(
            {"memory": memory, "pool": concepts.pool, "topic": graph.topic(memory), "levels": levels, "counts": counts,
             "vector": vector}
        )  # fmt: skip
        return
    console.print(styled((str(memory), "bold"), f" · pool {concepts.pool} · topic {graph.topic(memory) or '–'}"))
    console.print(panel(one.prompt or one.answer, "prompt" if one.prompt else "statement", "dim"))
    rows = [(short(name, 40), f"{level:g}", f"{graph.count(name):,}") for name, level in levels.items()]
    console.print(table("concept", "level", "memories", rows=rows))
    _print_vector(vector, limit)


def _print_vector(vector: dict[str, float], limit: int) -> None:
    rows = [(short(name, 40), f"{weight:.3f}") for name, weight in list(vector.items())[:limit]]
    console.print(table("concept", "weight", rows=rows, title=f"\nVector: {len(vector)} concepts"))
