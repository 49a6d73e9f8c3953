"""What people ask of a pool, as messages; light to import, for those who only ask."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, Field

from memshare.broker.wire.messages import Message, Name
from memshare.memory_service.memory import Status


def _written(text: str) -> str:
    if not text.strip():
        raise ValueError("it is empty")
    return text


Written = Annotated[str, AfterValidator(_written)]


class NewMemory(Message):
    """A pair, or a statement without a prompt, that a person brings in."""

    pool: Name
    prompt: Written | None = None
    answer: Written
    agent: str | None = None
    kind: str | None = None
    submitter: str = "anonymous"
    score: float | None = Field(default=None, ge=0, le=100)


class Edit(Message):
    """What to change of a memory; None leaves it as it is."""

    id: UUID
    prompt: Written | None = None
    answer: Written | None = None
    status: Status | None = None


class Forget(Message):
    """Which memories to forget: these, all of a submitter, or all of a task."""

    ids: tuple[UUID, ...] = ()
    submitter: str | None = None
    task_id: str | None = None
    with_children: bool = False
