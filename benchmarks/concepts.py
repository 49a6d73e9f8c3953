"""What the graph of concepts costs, and what it is good for: `python -m benchmarks.concepts`.

Over the bundled flashcards: do clusters hold together what was written together, and does the list of gaps name a topic
whose cards were removed? Over made memories: how long an addition takes as the pool grows, and whether forgetting is
exact. With `--recall`, in place of that: whether concepts find what a question needs (`concepts_recall.py`).
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Annotated, Any
from uuid import UUID

import numpy as np
import typer
from numpy.typing import NDArray

from benchmarks.concepts_growth import forget_exact, growth
from benchmarks.concepts_recall import found_by_concepts
from benchmarks.report import Aim, aim, print_figures, progress
from memshare_concepts.concept_graph import ConceptGraph
from memshare_concepts.flashcards import Flashcard, flashcards
from memshare_concepts.gaps import NAMED_BY, Encode, unexplained
from memshare_concepts.names import key
from tests.support.clusters import find_clusters

SIZES = (1_000, 10_000, 100_000)
AIMS = (
    Aim("peak_mb", 1000, "MB", at_most=True),
    Aim("gap_top50", 0.3, "of the topics"),
)
ADD_AIM = 20.0  # milliseconds
TOGETHER_AIM, CHANCE_AIM = 0.45, 0.03

Vectors = NDArray[np.float32]


def main(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document in place of tables.")] = False,
    recall: Annotated[
        bool, typer.Option("--recall", help="Measure what is found by concepts, and nothing else.")
    ] = False,
) -> None:
    """Measure and print."""
    # Not above, as the processes that measure memory import this module too.
    from memshare_memory.encoders.sentence_encoder import SentenceTransformerEncoder

    cards = flashcards()
    encoder = SentenceTransformerEncoder(None)
    if recall:
        print_figures("What is found for a flashcard by its concepts", found_by_concepts(encoder), as_json=as_json)
        return
    vectors = np.asarray(encoder.encode([card.prompt for card in cards]))
    growths = {str(size): growth(size) for size in progress(SIZES, "Adding")}
    figures: dict[str, Any] = {
        "clusters": clusters(cards, vectors),
        "peak_mb": growths[str(SIZES[-1])].peak_mb,
        "forget_exact": forget_exact(SIZES[0]),
        "gap_top50": gap_top50(cards, vectors, lambda names: np.asarray(encoder.encode(names))),
    }
    added = {size: {"p50": one.p50, "p99": one.p99} for size, one in growths.items()}
    if as_json:
        figures["add_ms"] = added
    else:
        figures |= {f"add_ms at {int(size):,}": one for size, one in added.items()}
    last = added[str(SIZES[-1])]["p99"]
    notes = [
        aim(f"adding to {SIZES[-1]:,} memories, p99", last, ADD_AIM, "ms", at_most=True),
        aim("cards written one after another together", figures["clusters"]["together"], TOGETHER_AIM, ""),
        aim("by chance", figures["clusters"]["chance"], CHANCE_AIM, "", at_most=True),
    ]
    print_figures(f"Concepts of {len(cards)} flashcards", figures, as_json=as_json, notes=notes, aims=AIMS)


def clusters(cards: tuple[Flashcard, ...], vectors: Vectors) -> dict[str, float]:
    """The share of cards in one cluster with the next, beside that of any two cards."""
    memories = [UUID(int=number) for number in range(len(cards))]
    found = find_clusters(_graph(cards, memories), memories, vectors)
    numbers = [found.of(memory).number for memory in memories]
    together = sum(one == following for one, following in pairwise(numbers)) / (len(cards) - 1)
    chance = sum((count / len(cards)) ** 2 for count in Counter(numbers).values())
    return {"together": round(together, 4), "chance": round(chance, 4)}


def gap_top50(cards: tuple[Flashcard, ...], vectors: Vectors, encode: Encode) -> float:
    """Of the topics that other cards name, the share that is among the first 50 gaps when its cards are removed."""
    names = sorted({name for card in cards for names in card.concepts.levels().values() for name in names})
    meanings = dict(zip(names, encode(names), strict=True))
    topics = [key(card.concepts.topic) for card in cards]
    concepts = [{key(name) for names in card.concepts.levels().values() for name in names} for card in cards]
    named = Counter(name for topic, of in zip(topics, concepts, strict=True) for name in of - {topic})
    graph = _graph(cards, [UUID(int=number) for number in range(len(cards))])
    first = []
    for topic in progress(sorted(one for one in set(topics) if named[one] >= NAMED_BY), "Removing topics"):
        left = [number for number, one in enumerate(topics) if one != topic]
        memories = [UUID(int=number) for number in left]
        removed = [one for one in graph.index.memories() if topics[one.int] == topic]
        for one in removed:
            graph.forget(one)
        gaps = unexplained(graph, memories, vectors[left], lambda wanted: np.stack([meanings[one] for one in wanted]))
        for one in removed:
            graph.add(one, cards[one.int].concepts.levels())
        first.append(topic in [key(gap.names[0]) for gap in gaps[:50]])
    return round(sum(first) / len(first), 4)


def _graph(cards: tuple[Flashcard, ...], memories: list[UUID]) -> ConceptGraph:
    return ConceptGraph({memory: cards[memory.int].concepts.levels() for memory in memories})


if __name__ == "__main__":
    typer.run(main)
