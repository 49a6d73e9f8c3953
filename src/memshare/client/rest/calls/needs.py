"""What needs a person: conflicts, stale memories, dead letters and rubrics, in one list."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from memshare.client.replies import RubricReply
from memshare.client.rest.calls.dead_letters import DeadLetterReply
from memshare.client.rest.methods import Asked, Calls, call
from memshare_broker.wire.messages import Message
from memshare_memory.door.messages import JudgedMemory


class Need(Message):
    """One thing that needs a person; which fields it has depends on its kind."""

    kind: Literal["conflict", "stale memory", "dead letter", "rubric"]
    key: str = Field(description="another one for each")
    since: float | None = Field(description="Unix time in seconds")
    pool: str | None
    memories: tuple[JudgedMemory, ...] = Field(
        default=(), description="of a conflict both, the more credible one first; or the stale one"
    )
    claims: str | None = Field(default=None, description="what the memories of a conflict claim")
    letter: DeadLetterReply | None = None
    rubric: RubricReply | None = None


class NeedsReply(Message):
    """What needs a person, the oldest first, and how many there are in all."""

    total: int
    needs: tuple[Need, ...]


class NeedsCalls(Calls[Asked]):
    """What needs a person."""

    @call("get_needs", "GET", "/v1/needs")
    def list(self, *, limit: int = 100) -> NeedsReply:
        """What of your pools needs a person, the oldest first.

        Memories that contradict each other and nobody has decided on, and stale ones, with the right `recall`; dead
        letters, and rubrics that nobody has approved, with `admin`.
        """
