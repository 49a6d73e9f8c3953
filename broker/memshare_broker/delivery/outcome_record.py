"""What is known for ever of the journeys that were opened to be kept, such as those of standard answers.

A journey's records go after MEMSHARE_KEEP_DAYS. Of a journey that is kept, the ledger's scripts write down in few
words what became of it, in the same step as the record, so that it is never opened, and paid for, a second time. Which
fields of a record these are, its `Stage` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import redis
from pydantic import BaseModel

from memshare_broker.delivery.keys import KEPT


class OutcomeRecord(BaseModel):
    """What became of a journey so far; fields are None until it is known."""

    question: str | None = None
    total: float | None = None
    threshold: float | None = None
    accepted: bool | None = None
    outcome: str | None = None
    """What the memory service did with the pair; "not verified" for an answer that is not graded, "not graded" where no
    model grades, "dropped" for a dead letter that was, "cancelled" for a journey that was ended."""
    memory_id: UUID | None = None
    error: str | None = None
    """Why it is a dead letter, until that is retried."""

    @property
    def ended(self) -> bool:
        return self.outcome is not None or self.error is not None

    @property
    def dead(self) -> bool:
        return self.outcome is None and self.error is not None


def read_outcomes(client: redis.Redis, journeys: Sequence[str]) -> dict[str, OutcomeRecord]:
    """What is known of these journeys; those that were never opened are left out."""
    texts = client.hmget(KEPT, list(journeys)) if journeys else []
    return {one: OutcomeRecord.model_validate_json(text) for one, text in zip(journeys, texts, strict=True) if text}


def forgo(client: redis.Redis, journey: str) -> None:
    """Note of a journey that is kept that its dead letter was dropped: nothing more becomes of it."""
    known = read_outcomes(client, [journey]).get(journey)
    if known is not None and known.outcome is None:
        text = known.model_copy(update={"outcome": "dropped"}).model_dump_json(exclude_none=True)
        client.hset(KEPT, journey, text)
