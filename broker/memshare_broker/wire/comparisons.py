"""The messages by which memories are compared: a memory, and others that may contradict it."""

from __future__ import annotations

from uuid import UUID

from pydantic import Field

from memshare_broker.wire.forms import Label
from memshare_broker.wire.messages import Message, Usage

MOST = 4  # memories with which one is compared


class Said(Message):
    """What a memory says; a statement has no prompt, or the question that it answers."""

    id: UUID
    prompt: str | None
    answer: str


class CompareTask(Message):
    """From the memory service to the scorer: which of `others` cannot be true together with `memory`?"""

    journey: str
    pool: Label
    agent: str = ""
    submitter: Label = "anonymous"
    memory: Said
    others: tuple[Said, ...] = Field(min_length=1, max_length=MOST)


class Compared(Message):
    """What the scorer said: the memories that contradict the one, each with the reason."""

    memory_id: UUID
    contradicted: dict[UUID, str]
    compared: int
    model: str
    usage: Usage
