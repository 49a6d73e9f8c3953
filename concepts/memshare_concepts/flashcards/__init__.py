"""A pool of flashcards with concepts, to try things on."""

from memshare_concepts.flashcards.flashcards import Flashcard, flashcard_memories, flashcards

__all__ = ["Flashcard", "flashcard_memories", "flashcards"]
