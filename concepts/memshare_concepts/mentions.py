"""The concepts of a graph that a text mentions by name."""

from __future__ import annotations

from memshare_concepts.graph.concept_graph import ConceptGraph

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
