"""How memories are quoted as data in what a chat model is asked: bounded, and under a name of their own."""

from __future__ import annotations

from collections.abc import Sequence

from memshare_llm import structured
from memshare_memory.memory import Memory

LONGEST = 2_000  # characters of each prompt and answer


def bounded(text: str) -> str:
    """A text that is not too long to be quoted."""
    return structured.bounded(text, LONGEST)


def names(count: int) -> tuple[str, ...]:
    """The names of so many memories, in their order: `memory_1`, `memory_2`, …"""
    return tuple(f"memory_{number}" for number in range(1, count + 1))


def quoted(memories: Sequence[Memory]) -> dict[str, dict[str, str | None]]:
    """Memories by their names, in their order."""
    pairs = (structured.quoted_pair(memory.prompt, memory.answer, LONGEST) for memory in memories)
    return dict(zip(names(len(memories)), pairs, strict=True))
