"""Conflicts: memories that contradict each other, and what a person says of it."""

from __future__ import annotations

from uuid import UUID

from pydantic import Field

from memshare.client.rest.methods import Asked, Calls, call
from memshare_broker.wire.messages import Message
from memshare_memory.curate.requests import ConflictDecision
from memshare_memory.door.messages import JudgedMemory


class Contradiction(Message):
    """Two memories that cannot both be true, the more credible one first; what they claim, where a model said it."""

    memories: tuple[JudgedMemory, JudgedMemory]
    claims: str | None
    confirmed: bool = Field(default=False, description="whether a person has said that they contradict each other")


Contradictions = list[Contradiction]


class ConflictCalls(Calls[Asked]):
    """Memories that contradict each other: list them, and decide."""

    @call("get_conflicts", "GET", "/v1/conflicts")
    def list(self, *, pool: str | None = None) -> Contradictions:
        """Memories of your pools that cannot both be true, as a model found or a person said."""

    @call("post_conflict", "POST", "/v1/conflicts")
    def decide(self, memories: tuple[UUID | str, UUID | str], *, contradict: bool) -> ConflictDecision:
        """Say of two memories of one pool whether they contradict each other; no model's word undoes it.

        Of two that do, agents are shown the more credible one alone.
        """
