"""What was recalled for whom, kept for some days under its id, so that an outcome finds the memories it is about."""

from __future__ import annotations

from uuid import UUID

import redis

from memshare.client.errors import NotFound
from memshare.operations.caller import Caller
from memshare_broker.delivery.journey_records import pack, unpack
from memshare_broker.wire.messages import Message, Shown
from memshare_memory.curate.traces import RECALLED

LONGEST = 30 * 86_400  # seconds; as long as the memory service knows that an outcome was told


class KeptRecall(Message):
    """One recall: who asked, for what task, and the memories that were shown."""

    id: UUID
    submitter: str
    pool: str
    prompt: str
    shown: tuple[Shown, ...]


class Recalls:
    """The recalls of one Redis."""

    def __init__(self, client: redis.Redis, keep_days: float) -> None:
        self._client = client
        self._keep = int(min(keep_days * 86_400, LONGEST))
        """Seconds; no longer than it is known that an outcome was told."""

    def keep(self, recall: KeptRecall) -> None:
        self._client.set(f"{RECALLED}{recall.id}", pack(recall.model_dump_json()), ex=self._keep)

    def get(self, caller: Caller, recall_id: UUID) -> KeptRecall:
        """A recall of the caller's own; raises `NotFound`."""
        kept = self._client.execute_command("GET", f"{RECALLED}{recall_id}", NEVER_DECODE=True)  # type: ignore[no-untyped-call]
        recall = KeptRecall.model_validate(unpack(kept)) if kept else None
        if recall is None or recall.submitter != caller.name or not caller.sees(recall.pool):
            raise NotFound(f"No recall of yours has the id {str(recall_id)!r}. They are kept for some days only.")
        return recall
