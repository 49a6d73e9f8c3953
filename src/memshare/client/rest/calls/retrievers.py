"""Retrievers: what each pool's has learnt, and going back to an earlier version."""

from __future__ import annotations

from pydantic import Field

from memshare.client.rest.methods import Asked, Calls, call
from memshare_broker.wire.messages import Message
from memshare_memory.recall.lift import Lift


class VersionReply(Message):
    """A version that can be gone back to; the accuracies, 0 to 1, are of when it was published."""

    version: int
    lessons: int
    accuracy_before: float | None
    accuracy_after: float | None


class RetrieverReply(Message):
    """The retriever of a pool. Accuracy is how likely the memory that it ranks first helps, in lessons held out."""

    pool: str
    version: int = Field(description="in use; 0 has learnt nothing")
    fault: str | None = Field(description="why nobody can use that version, if so")
    versions: tuple[VersionReply, ...]
    lessons: dict[str, int] = Field(description="how many came to what")
    accuracy_untrained: float | None
    accuracy: float | None
    held_out: int
    lift: Lift


class RetrieversReply(Message):
    """The encoder in use, what consolidation waits for, and the pools that have had a lesson."""

    encoder: str
    lessons: int
    next_at: int = Field(description="lessons at which consolidation is due")
    waits_for: str
    pools: tuple[RetrieverReply, ...]


class RolledBackReply(Message):
    """The version that was in use, the one that is, and what became of the lessons between them."""

    before: int
    version: int
    set_aside: int
    brought_back: int


class Retrievers(Calls[Asked]):
    """What retrievers have learnt."""

    @call("get_retrievers", "GET", "/v1/retrievers")
    def list(self) -> RetrieversReply:
        """What the retriever of each of your pools has learnt; it takes the right `recall`."""

    @call("rollback_retriever", "POST", "/v1/retrievers/{pool}/rollback", repeatable=False)
    def rollback(self, pool: str, *, to: int | None = None) -> RolledBackReply:
        """Put another version into use, the one before without `to`; it takes the right `admin`.

        0 is the untrained one. What was learnt after it is set aside, and comes back when you go forward again.
        """
