"""What `memshare demo --concepts` prints: the map, a cluster, a gap, and a question that became a memory."""

from __future__ import annotations

from pathlib import Path

from memshare.cli.concepts.answering_agent import outcome_of
from memshare.demo.concepts import POOL, Explored
from memshare.terminal.console import console, panel, print_json, short, styled, table
from memshare.terminal.memory_pages import concept_names, counted

MAP = "flashcards-map.html"


def show_explored(found: Explored, model: str, to_machine: bool) -> None:
    """Print what was found; for a machine as one JSON document."""
    if to_machine:
        print_json(_as_json(found, model))
        return
    cluster = found.cluster
    rows = [(topic.name, f"{topic.share:.0%}", f"{topic.lift:.1f}") for topic in cluster.topics[:5]]
    title = f"Cluster {cluster.number}: {cluster.name}, {counted(len(cluster.memories))}"
    console.print(table("concept", "of its memories", "times the pool's share", rows=rows, title=title))
    console.print(styled(("\nA gap: ", "bold"), found.gap.reason), soft_wrap=True)
    rows = [(short(journey.prompt, 80), *outcome_of(journey)) for journey in found.asked]
    console.print(table("new question", "score", "outcome", rows=rows, title="\nAsked until an answer is remembered"))
    if found.memory is not None:
        memory = found.memory
        score = f"{memory.score:.1f}" if memory.score is not None else "none"
        title = f"A new memory, {memory.status}: score {score}"
        console.print(panel(styled((memory.prompt or "", "dim"), f"\n\n{memory.answer}"), title))
        names = ", ".join(concept_names(memory))
        console.print(f"Its concepts: {names or 'not named yet'}", soft_wrap=True)
    else:
        console.print(f"None of {len(found.asked)} answers was good enough to be remembered.", style="yellow")
    console.print(
        f"\n{found.cards} flashcards of pool {POOL!r} on a map, for a browser: {found.map_file}", soft_wrap=True
    )


def map_place(data: Path | None) -> Path:
    """Where the map goes: into the folder that is kept, or else into the current one."""
    return (data or Path.cwd()).absolute() / MAP


def _as_json(found: Explored, model: str) -> dict[str, object]:
    cluster, memory = found.cluster, found.memory
    return {
        "model": model,
        "cards": found.cards,
        "map": str(found.map_file),
        "cluster": {"number": cluster.number, "name": cluster.name, "memories": len(cluster.memories)},
        "gap": {"id": found.gap.id, "reason": found.gap.reason},
        "asked": [
            {
                "question": one.prompt,
                "answer": one.answer,
                "score": one.score.total if one.score else None,
                "outcome": one.outcome,
            }
            for one in found.asked
        ],
        "memory": memory.model_dump(mode="json") if memory else None,
    }
