"""How memories are quoted as data in what a chat model is asked, and cited in what it writes."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from memshare_broker.wire.messages import Message
from memshare_llm import structured
from memshare_memory.memory import Memory

EXAMPLES = 8  # memories that a model is shown for new questions
LONGEST = 2_000  # characters of each prompt and answer
MOST_CHARACTERS = 40_000  # of all memories that a model is shown for a summary


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


class Sentence(Message):
    """A sentence, and the memories that it rests on."""

    text: str
    cites: tuple[UUID, ...]
