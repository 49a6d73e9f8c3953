"""The prompt: instructions, then the memories as earlier turns, then the task."""

from __future__ import annotations

from collections.abc import Sequence

from memshare_broker.wire.messages import Turn
from memshare_memory.memory import Memory


def build_prompt(instructions: str, memories: Sequence[Memory], task: Sequence[Turn]) -> list[Turn]:
    """The conversation an agent sends to its model.

    `memories` come best first and are shown best last, next to the task. A memory without a prompt is no
    turn: it goes into the system message, as something that is known.
    """
    shown = list(reversed(memories))
    statements = [memory.answer for memory in shown if memory.prompt is None]
    system = instructions + "".join(f"\n\nWhat is known: {text}" for text in statements)
    turns = [Turn(role="system", content=system)]
    for memory in shown:
        if memory.prompt is not None:
            turns.append(Turn(role="user", content=memory.prompt))
            turns.append(Turn(role="assistant", content=memory.answer))
    return [*turns, *task]
