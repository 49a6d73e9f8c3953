"""Duplicates: memories of a pool that are nearly the same."""

from __future__ import annotations

from uuid import UUID

from pydantic import Field

from memshare.client.rest.methods import Asked, Calls, call
from memshare_broker.wire.messages import Message
from memshare_memory.door.messages import JudgedMemory


class DuplicateReply(Message):
    """Two memories that are found by nearly the same text, the older one first."""

    memories: tuple[JudgedMemory, JudgedMemory]
    cosine: float


class DuplicatesReply(Message):
    """The most alike of those that nobody has decided on."""

    pool: str
    looked_at: int = Field(description="memories that were compared with each other")
    found: int = Field(description="pairs from a cosine of .95, in all")
    duplicates: tuple[DuplicateReply, ...]
    nearest: DuplicateReply | None = Field(default=None, description="where no pair was found, the one most alike")


class DifferentReply(Message):
    """The decision on two memories."""

    memories: tuple[UUID, UUID]
    different: bool


class Duplicates(Calls[Asked]):
    """Memories that are nearly the same: look for them, and decide."""

    @call("get_duplicates", "GET", "/v1/duplicates/{pool}")
    def list(self, pool: str) -> DuplicatesReply:
        """Memories of a pool that are nearly the same, among 20,000 of it; it takes the right `recall`.

        It takes some seconds, and is computed once in ten minutes at most.
        """

    @call("post_duplicate", "POST", "/v1/duplicates/{pool}")
    def decide(self, pool: str, memories: tuple[UUID | str, UUID | str], *, different: bool = True) -> DifferentReply:
        """Say of two memories that both are wanted, or, without `different`, that this is to be decided again.

        It takes the right `curate`. To keep one of them, forget the other.
        """
