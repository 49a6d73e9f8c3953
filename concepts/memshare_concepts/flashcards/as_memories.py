"""The flashcards as memories of a pool, with the concepts that they came with."""

from __future__ import annotations

from memshare_concepts.flashcards.flashcards import flashcards
from memshare_memory.memory import Memory, memory_id

WRITTEN = 1_672_531_200.0
"""When they were written: 2023, in the order in which they stand here."""


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
