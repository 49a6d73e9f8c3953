"""A pool of flashcards with concepts, to try things on."""

from memshare.concepts.flashcards.flashcards import Flashcard, flashcards

__all__ = ["Flashcard", "flashcards"]
