"""`memshare concepts why`: what a task and the memories that were shown with it have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Literal
from uuid import UUID

import typer

from memshare.cli.ask.trace import TaskId
from memshare.cli.concepts.open_concepts import OpenedConcepts, opened
from memshare.cli.options import Json
from memshare.client.client import Client
from memshare.client.journey import Journey
from memshare.terminal.console import console, print_json, short, styled, table
from memshare.terminal.ids import concept_names, find_task, short_id
from memshare_broker.errors import BadInput
from memshare_broker.wire.messages import Shown
from memshare_memory.memory import Memory
from memshare_memory.stores.store import Where

if TYPE_CHECKING:
    from memshare_concepts.concept_graph import ConceptGraph

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
    from memshare_concepts.concept_graph import contributions

    graph = found.concepts.graph
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
