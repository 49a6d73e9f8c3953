"""Replies to people about forgotten memories, as messages; light to import."""

from __future__ import annotations

from uuid import UUID

from pydantic import Field

from memshare_broker.wire.messages import Message
from memshare_memory.memory import Memory


class CreditSnapshot(Message):
    """Worth of a memory, and the memories that contradict it."""

    arm: str | None = Field(default=None, description="what it was worth, as the arms of its pool have it")
    given: dict[str, str] = Field(default={}, description="of what it was worth, what each submitter's tasks gave")
    rivals: tuple[UUID, ...] = Field(default=(), description="what contradicted it")
    confirmed: tuple[UUID, ...] = Field(default=(), description="of these what a person said so of")
    right: tuple[UUID, ...] = Field(default=(), description="of these over which a person said that it is right")
    wrong: tuple[UUID, ...] = Field(default=(), description="of these what a person said to be right")


class ForgottenMemory(CreditSnapshot):
    """A memory in the trash. Times are Unix times in seconds."""

    memory: Memory
    forgotten: float
    until: float = Field(description="when it goes for good")
    made_stale: tuple[UUID, ...] = Field(default=(), description="what was written from it")


class ForgetPreview(Message):
    """Preview of forgetting: the number of memories, their pools, and the first of them.

    `derived` counts those that were derived from the ones asked for, `trashed` those that are in the trash already.
    """

    memories: int
    by_pool: dict[str, int]
    derived: int
    trashed: int
    examples: tuple[Memory, ...]


class TrashPage(Message):
    """Forgotten memories, the last one forgotten first, and how many there are in all that were asked for."""

    total: int
    forgotten: tuple[ForgottenMemory, ...]


class RestoredMemories(Message):
    """Which memories are back, and which were not taken back because the pool has one with the same id."""

    restored: tuple[UUID, ...]
    there: tuple[UUID, ...]


class Purged(Message):
    """Result of a purge, which is final; `open_messages` counts messages under way that still have purged data."""

    memories: tuple[UUID, ...]
    journeys: int
    dead_letters: int
    open_messages: int


class FilesRewritten(Message):
    """Whose files were rewritten, so that nothing of what was removed stands in them."""

    pool: bool = Field(description="whether the pool's were, which a Qdrant server does by itself, in its own time")
    redis: bool = Field(
        description="whether those of Redis were: its append-only log, and its snapshot if it makes any"
    )
    copies: tuple[str, ...] = Field(description="folders beside the pool's that may have it, too")
