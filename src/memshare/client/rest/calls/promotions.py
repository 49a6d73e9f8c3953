"""Promotions: memories that are proposed for the next space of their agent, and what people say of that."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import Field

from memshare.client.rest.methods import Asked, Calls, call
from memshare_broker.wire.messages import Message
from memshare_memory.belief.promotions import Proposal
from memshare_memory.door.messages import JudgedMemory

Decision = Literal["promote", "refuse", "take back", "undecided"]


class PromotionReply(Message):
    """A proposal with its memory; of a promotion that was taken back, what went with it."""

    memory: JudgedMemory
    proposal: Proposal
    forgotten: tuple[UUID, ...] = Field(default=(), description="what this decision put into the trash")


PromotionsReply = list[PromotionReply]


class PromotionCalls(Calls[Asked]):
    """Memories that are proposed for another pool: list them, and decide."""

    @call("get_promotions", "GET", "/v1/promotions")
    def list(self) -> PromotionsReply:
        """Memories that were proposed for the next pool of their agent, also those decided on; you see both pools."""

    @call("post_promotion", "POST", "/v1/promotions/{memory_id}")
    def decide(self, memory_id: UUID | str, decision: Decision = "promote") -> PromotionReply:
        """Promote a memory that is proposed, refuse that, or take it back; it takes the right `curate`.

        Taken back, it goes from the pool that it was promoted to, with all that was written from it, into the trash.
        "undecided" takes back that it was refused.
        """
