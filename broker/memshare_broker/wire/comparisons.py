"""The messages by which memories are compared: a memory, and others that may contradict it."""

from __future__ import annotations

from uuid import UUID

from pydantic import Field

from memshare_broker.wire.forms import Label
from memshare_broker.wire.messages import Message, PaidTask, Usage

MOST = 4  # memories with which one is compared
LONGEST_TEXT = 4_000  # characters of a prompt or an answer that travel


class Said(Message):
    """What a memory says; a statement has no prompt, or the question that it answers."""

    id: UUID
    prompt: str | None
    answer: str

    @classmethod
    def of(cls, memory_id: UUID, prompt: str | None, answer: str) -> Said:
        return cls(id=memory_id, prompt=prompt and prompt[:LONGEST_TEXT], answer=answer[:LONGEST_TEXT])


class CompareTask(PaidTask):
    """From the memory service to the scorer: which of `others` cannot be true together with `memory`?"""

    memory: Said
    others: tuple[Said, ...] = Field(min_length=1, max_length=MOST)


class Compared(Message):
    """What the scorer said: the memories that contradict the one, each with the reason."""

    memory_id: UUID
    contradicted: dict[UUID, str]
    compared: int
    model: str
    usage: Usage


class ComparedPairs(Message):
    """From the scorer or the trainer to the memory service: what was said of a memory and each of these others."""

    journey: str
    pool: Label
    compared: Compared
    others: tuple[UUID, ...]


class NotedPairs(Message):
    """What the memory service did with it: of how many pairs it was noted. A pair is left out where one is gone."""

    memory_id: UUID
    noted: int
