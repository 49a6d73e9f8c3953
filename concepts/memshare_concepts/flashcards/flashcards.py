"""542 flashcards in the order in which they were written. By Thomas Hartke, MIT: see LICENSE.txt."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from memshare_concepts.hierarchy import Hierarchy


class Flashcard(NamedTuple):
    """A question, its answer and its concepts, which a language model named."""

    prompt: str
    answer: str
    concepts: Hierarchy
    source: str
    """Repository, commit, number of the card, and licence."""


@lru_cache(maxsize=1)
def flashcards() -> tuple[Flashcard, ...]:
    """All cards, in the order in which they were written."""
    lines = (Path(__file__).parent / "flashcards.jsonl").read_text(encoding="utf-8").splitlines()
    cards = (json.loads(line) for line in lines)
    return tuple(
        Flashcard(card["prompt"], card["answer"], Hierarchy.of_levels(card["concepts"]), card["source"])
        for card in cards
    )
