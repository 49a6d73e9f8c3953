"""`memshare concepts show`, `common` and `why`: a concept, those of a memory, and what several, or a task, share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal
from uuid import UUID

import typer

from memshare.cli.ask.trace import TaskId
from memshare.cli.concepts.open_concepts import OpenedConcepts, concept_named, opened
from memshare.cli.options import Json, Pool, Rows
from memshare.client.client import Client
from memshare.client.journey import Journey
from memshare.terminal.console import console, panel, print_json, short, styled, table
from memshare.terminal.ids import (
    concept_names,
    counted,
    find_memory,
    find_task,
    prompt_and_answer,
    short_id,
    text_columns,
)
from memshare_broker.errors import BadInput
from memshare_broker.wire.messages import Shown
from memshare_memory.memory import Memory
from memshare_memory.stores.store import Where

if TYPE_CHECKING:
    from memshare_concepts.concept_graph import ConceptGraph, ConceptLink
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
    console.print(table("concept", "weight", rows=rows, title=f"\nVector: {counted(len(vector), 'concept')}"))


LEAST_WEIGHT, LEAST_SIMILARITY = 0.0005, 0.4
"""Of what is printed."""


def common(
    names: Annotated[list[str], typer.Argument(metavar="A B …", help="Two concepts or more.")],
    pool: Pool = None,
    limit: Rows = 10,
    as_json: Json = False,
) -> None:
    """Show what concepts have in common: the names that belong to all of them, and the memories nearest to these.

    A concept's vector is itself and what stands beside it; the weight of a name is the geometric mean of those that it
    has in each of them.

    Example: memshare concepts common "Neural Network" "Gradient Descent" --pool physics
    """
    with opened("common", pool) as found:
        from memshare_concepts.pool_graph import in_common

        concepts = found.concepts
        meant = list(dict.fromkeys(concept_named(concepts.graph, typed, concepts.pool) for typed in names))
        if len(meant) < 2:
            raise BadInput(f"Expected two different concepts or more, found {', '.join(meant)} alone.")
        shared = in_common(concepts, meant)
    if as_json:
        memories = [{"id": one, "similarity": similarity} for one, similarity in shared.memories]
        print_json({"concepts": meant, "pool": concepts.pool, "vector": shared.vector, "memories": memories})
        return
    title = " and ".join((", ".join(meant[:-1]), meant[-1]))
    if not shared.vector:
        console.print(f"{title} have nothing in common in pool {concepts.pool}: no concept stands beside all of them.")
        return
    console.print(styled((title, "bold"), f" · pool {concepts.pool}"))
    # Nearly every memory shares something: what would be printed as nothing is left to JSON.
    weights = [(name, weight) for name, weight in shared.vector.items() if weight >= LEAST_WEIGHT]
    near = [(one, similarity) for one, similarity in shared.memories if similarity >= LEAST_SIMILARITY]
    rows = [(short(name, 40), f"{weight:.3f}") for name, weight in weights[:limit]]
    console.print(table("in common", "weight", rows=rows, title=f"\nConcepts: {len(weights):,}"))
    found_near = [
        (f"{similarity:.2f}", short_id(one), short(concepts.memories[one].key, 60)) for one, similarity in near[:limit]
    ]
    console.print(table("similarity", "id", "prompt", rows=found_near, title=f"\nMemories: {len(near):,}"))


Missing = Literal["forgotten", "no concepts yet"]


@dataclass(frozen=True)
class Shared:
    """Concepts that a memory shares with the task, each with its contribution to the similarity by concepts."""

    memory: UUID
    prompt: str | None
    cosine: float
    """By which it was recalled."""
    similarity: float | None
    """By concepts: the sum of the contributions; None where the concepts of the memory are not known."""
    contributions: dict[str, float]
    missing: Missing | None


def why(
    task_id: TaskId,
    limit: Annotated[int, typer.Option(min=1, help="Maximum concepts per memory; --json is complete.")] = 8,
    as_json: Json = False,
) -> None:
    """Say what a task and each memory that it was shown have in common: the concepts, with what each adds.

    Memories are recalled by the cosine of texts; the concepts explain it afterwards.

    Example: memshare concepts why 1c6fa3b2
    """
    with Client() as client:
        journey = client.journey(find_task(client, task_id))
        if not journey.memories:
            raise BadInput(f"Task {journey.task_id!r} was shown no memory: there is nothing to explain.")
        memories = _read(client, [shown.id for shown in journey.memories])
    if not memories:
        raise BadInput(f"The memories that task {journey.task_id!r} was shown are all forgotten.")
    with opened("why", next(iter(memories.values())).pool) as found:
        concepts, source = _of_task(found, journey)
        compared = list(_compare(found, concepts, journey.memories, memories))
    if as_json:
        print_json(
            {
                "task": journey.task_id,
                "concepts": concepts,
                "source": source,
                "memories": [asdict(one) for one in compared],
            }
        )
        return
    console.print(styled((short(journey.prompt, 100), "bold")))
    console.print(f"{source}: {', '.join(concepts) or 'none'}.")
    for one in compared:
        _print(one, limit)


def _read(client: Client, ids: list[UUID]) -> dict[UUID, Memory]:
    return {memory.id: memory for memory in client.memories.every(Where(ids=ids))}


def _of_task(found: OpenedConcepts, journey: Journey) -> tuple[list[str], str]:
    """The concepts of a task, and where they come from."""
    graph = found.concepts.graph
    if journey.memory_id is not None:
        remembered = _read(found.client, [journey.memory_id]).get(journey.memory_id)
        if remembered is not None and remembered.concepts:
            return concept_names(remembered), "Concepts of the memory that it became"
    return mentioned(graph, journey.prompt), "Concepts that its prompt mentions"


def _compare(
    found: OpenedConcepts, concepts: list[str], shown: tuple[Shown, ...], memories: dict[UUID, Memory]
) -> Iterator[Shared]:
    graph = found.concepts.graph
    from memshare_concepts.concept_graph import contributions

    own = graph.vector_of(concepts)
    for one in shown:
        memory = memories.get(one.id)
        if memory is None or not memory.concepts:
            missing: Missing = "forgotten" if memory is None else "no concepts yet"
            yield Shared(one.id, memory.prompt if memory else None, one.similarity, None, {}, missing)
            continue
        parts = contributions(own, graph.vector_of(concept_names(memory)))
        yield Shared(one.id, memory.prompt, one.similarity, sum(parts.values()), parts, None)


def _print(one: Shared, limit: int) -> None:
    title = f"\n{short_id(one.memory)} {short(one.prompt or '–', 60)} · cosine {one.cosine:.3f}"
    if one.missing == "forgotten":
        console.print(styled((title, "bold"), "\nIt is forgotten: what it was about is not known any more."))
    elif one.missing is not None:
        console.print(
            styled((title, "bold"), "\nIts concepts are not known yet: `memshare concepts extract` names them.")
        )
    elif not one.contributions:
        console.print(styled((title, "bold"), "\nThey share no concept."))
    else:
        rows = [(short(name, 40), f"{part:.3f}") for name, part in list(one.contributions.items())[:limit]]
        rest = sum(list(one.contributions.values())[limit:])
        rows += [(f"{len(one.contributions) - limit} more", f"{rest:.3f}")] if rest else []
        rows.append(("similarity by concepts", f"{one.similarity:.3f}"))
        console.print(table("shared concept", "adds", rows=rows, title=title))


MOST_WORDS = 6  # of a name
_AROUND = ".,;:!?\"'()[]{}<>«»„“”‘’…"


def mentioned(graph: ConceptGraph, text: str) -> list[str]:
    """The names that stand in a text, in any spelling, in its order; of names within each other the longest alone."""
    words = [word for part in text.split() if (word := part.strip(_AROUND))]
    found: dict[str, None] = {}
    place = 0
    while place < len(words):
        for length in range(min(MOST_WORDS, len(words) - place), 0, -1):
            number = graph.index.number(" ".join(words[place : place + length]))
            if number is not None:
                found[graph.index.name(number)] = None
                place += length
                break
        else:
            place += 1
    return list(found)
