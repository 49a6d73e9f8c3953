"""The messages by which memories are compared: a memory, and others that may contradict it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol
from uuid import UUID

from pydantic import Field

from memshare_broker.wire.forms import Label
from memshare_broker.wire.messages import Message, PaidTask, Usage

MOST = 4  # memories with which one is compared
LONGEST_TEXT = 4_000  # characters of a prompt or an answer that travel


class ComparedText(Protocol):
    """Anything that says what a memory says."""

    @property
    def prompt(self) -> str | None: ...
    @property
    def answer(self) -> str: ...


class NamedText(ComparedText, Protocol):
    """A text with the id of its memory."""

    @property
    def id(self) -> UUID: ...


class PaidText(ComparedText, Protocol):
    """A text of a pool, and who pays for what is asked about it."""

    @property
    def pool(self) -> str: ...
    @property
    def agent(self) -> str | None: ...
    @property
    def submitter(self) -> str: ...


class Said(Message):
    """What a memory says; a statement has no prompt, or the question that it answers."""

    id: UUID
    prompt: str | None
    answer: str

    @classmethod
    def of(cls, memory_id: UUID, text: ComparedText) -> Said:
        prompt = text.prompt and text.prompt[:LONGEST_TEXT]
        return cls(id=memory_id, prompt=prompt, answer=text.answer[:LONGEST_TEXT])


class CompareTask(PaidTask):
    """From the memory service to the scorer: which of `others` cannot be true together with `memory`?"""

    memory: Said
    others: tuple[Said, ...] = Field(min_length=1, max_length=MOST)

    @classmethod
    def of(cls, journey: str, memory_id: UUID, memory: PaidText, others: Iterable[NamedText]) -> CompareTask:
        return cls(
            journey=journey,
            pool=memory.pool,
            agent=memory.agent or "",
            submitter=memory.submitter,
            memory=Said.of(memory_id, memory),
            others=tuple(Said.of(one.id, one) for one in others),
        )


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
