"""The trash: forgotten memories, which can be brought back for 30 days."""

from __future__ import annotations

from uuid import UUID

from pydantic import Field

from memshare.client.rest.methods import Asked, Calls, call
from memshare_broker.wire.messages import Message
from memshare_memory.forget.answers import RestoredMemories
from memshare_memory.memory import Memory


class TrashedMemory(Message):
    """A forgotten memory. Times are Unix times in seconds."""

    memory: Memory
    forgotten: float
    until: float = Field(description="when it goes for good")


class TrashReply(Message):
    """Forgotten memories, the last one forgotten first, and how many there are in all that were asked for."""

    total: int
    memories: tuple[TrashedMemory, ...]


class TrashCalls(Calls[Asked]):
    """Forgotten memories: list them, and bring them back."""

    @call("get_trash", "GET", "/v1/trash")
    def list(self, *, submitter: str | None = None, limit: int = 50) -> TrashReply:
        """The forgotten memories of your pools that can be brought back, the last forgotten first."""

    @call("restore_memory", "POST", "/v1/trash/{memory_id}/restore", repeatable=False)
    def restore(self, memory_id: UUID | str) -> RestoredMemories:
        """Bring a forgotten memory back as it was: text, score, status and credibility."""
