"""A pool of flashcards with concepts, to try things on."""

from memshare_concepts.flashcards.as_memories import flashcard_memories
from memshare_concepts.flashcards.flashcards import Flashcard, flashcards

__all__ = ["Flashcard", "flashcard_memories", "flashcards"]
