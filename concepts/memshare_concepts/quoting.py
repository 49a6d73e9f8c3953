"""How memories are quoted as data in what a chat model is asked: bounded, and under a name of their own."""

from __future__ import annotations

from collections.abc import Sequence

from memshare_memory.memory import Memory

LONGEST = 2_000  # characters of each prompt and answer


def bounded(text: str, longest: int = LONGEST) -> str:
    """A text that is not too long to be quoted."""
    return text if len(text) <= longest else f"{text[:longest]} […]"


def quoted(memories: Sequence[Memory]) -> dict[str, dict[str, str | None]]:
    """Memories by the names `memory_1`, `memory_2`, …, in their order."""
    return {
        f"memory_{number}": {"prompt": memory.prompt and bounded(memory.prompt), "answer": bounded(memory.answer)}
        for number, memory in enumerate(memories, 1)
    }
