"""`memshare concepts common`: what two concepts or more have in common."""

from __future__ import annotations

from typing import Annotated

import typer

from memshare.cli.concepts.open_concepts import concept_named, opened
from memshare.cli.options import Json, Pool, Rows
from memshare.terminal.console import console, print_json, short, styled, table
from memshare.terminal.ids import short_id
from memshare_broker.errors import BadInput

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
