"""Conflicts: memories that contradict each other, and what a person says of it."""

from __future__ import annotations

from uuid import UUID

from pydantic import Field

from memshare.client.rest.methods import Asked, Calls, call
from memshare_broker.wire.messages import Message
from memshare_memory.curate.requests import ConflictDecision
from memshare_memory.door.messages import JudgedMemory


class Contradiction(Message):
    """Two memories that cannot both be true, the older one first; what they claim, where a model said it."""

    memories: tuple[JudgedMemory, JudgedMemory]
    claims: str | None
    confirmed: bool = Field(default=False, description="whether a person has said that they contradict each other")
    right: UUID | None = Field(default=None, description="which of them a person has said to be right")


Contradictions = list[Contradiction]


class ConflictCalls(Calls[Asked]):
    """Memories that contradict each other: list them, and decide."""

    @call("get_conflicts", "GET", "/v1/conflicts")
    def list(self, *, pool: str | None = None) -> Contradictions:
        """Memories of your pools that cannot both be true, as a model found or a person said."""

    @call("post_conflict", "POST", "/v1/conflicts")
    def decide(
        self,
        memories: tuple[UUID | str, UUID | str],
        *,
        contradict: bool | None = None,
        right: UUID | str | None = None,
        undecided: bool = False,
    ) -> ConflictDecision:
        """Say of two memories of one pool whether they contradict each other; no model's word undoes it.

        Of two that do, agents are shown the one that you say is `right` alone, or else the more credible one.
        `undecided` takes back what was said.
        """
