"""Names of concepts as people type them, and which were meant where there is none of that name."""

from __future__ import annotations

from difflib import get_close_matches

from memshare_broker.errors import BadInput
from memshare_concepts.graph.concept_graph import ConceptGraph
from memshare_concepts.names import key

_SHOWN = 5  # names that are like what was typed


def concept_named(graph: ConceptGraph, typed: str, pool: str) -> str:
    """The concept that is meant, as it is shown. Raises `BadInput`, with the nearest names, where there is none."""
    number = graph.index.number(typed)
    if number is not None:
        return graph.index.name(number)
    near = nearest_names(graph, typed)
    advice = f" The nearest: {', '.join(near)}." if near else ""
    raise BadInput(f"No concept of pool {pool!r} is called {typed!r}.{advice}")


def nearest_names(graph: ConceptGraph, typed: str) -> list[str]:
    """Names that hold what was typed, those of most memories first, or else names of a similar spelling."""
    wanted = key(typed)
    names = {key(name): name for name in graph.concepts()}
    inside = [name for one, name in names.items() if wanted and wanted in one]
    if inside:
        return sorted(inside, key=lambda name: (-graph.count(name), name))[:_SHOWN]
    return [names[one] for one in get_close_matches(wanted, names, _SHOWN)]
