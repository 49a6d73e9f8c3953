"""A pool with concepts to try things on: 542 flashcards by Thomas Hartke, MIT (see LICENSE.txt)."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from memshare_concepts.extraction import Hierarchy
from memshare_memory.memory import Memory, memory_id

WRITTEN = 1_672_531_200.0  # when they were written: 2023, in the order in which they stand here


class Flashcard(NamedTuple):
    """A question, its answer and its concepts, which a language model named."""

    prompt: str
    answer: str
    concepts: Hierarchy
    source: str  # repository, commit, number of the card, and licence


@lru_cache(maxsize=1)
def flashcards() -> tuple[Flashcard, ...]:
    """All cards, in the order in which they were written."""
    lines = (Path(__file__).parent / "flashcards.jsonl").read_text(encoding="utf-8").splitlines()
    cards = (json.loads(line) for line in lines)
    return tuple(
        Flashcard(card["prompt"], card["answer"], Hierarchy.of_levels(card["concepts"]), card["source"])
        for card in cards
    )


def flashcard_memories(pool: str, most: int | None = None) -> list[Memory]:
    """The first flashcards, or all of them, ready for `MemoryClient.restore`."""
    return [
        Memory.model_validate(
            {
                "id": memory_id(pool, card.prompt, card.answer),
                "pool": pool,
                "prompt": card.prompt,
                "answer": card.answer,
                "submitter": "Thomas Hartke",
                "source": card.source,
                "created": WRITTEN + place,
                "concepts": {str(level): names for level, names in card.concepts.levels().items()},
            }
        )
        for place, card in enumerate(flashcards()[:most])
    ]
