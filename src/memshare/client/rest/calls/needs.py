"""Everything that needs a person: conflicts, stale memories, dead letters and rubrics, in one list."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import Field

from memshare.client.replies import RubricReply
from memshare.client.rest.calls.concepts import QuestionReply, SimilarReply
from memshare.client.rest.calls.decisions import SubmitterReply
from memshare.client.rest.calls.operating import DeadLetterReply
from memshare.client.rest.methods import Asked, Calls, call
from memshare_broker.wire.messages import Message
from memshare_memory.belief.promotions import Proposal
from memshare_memory.door.messages import JudgedMemory
from memshare_memory.memory import Became


class StaleSource(Message):
    """A statement that stale memories were written from: what became of it, and what it said then and says now.

    Its texts are left out where the caller may not see them.
    """

    id: UUID
    became: Became
    then: str | None = Field(description="what it said when the newest of them was written")
    now: str | None = Field(description="null where it was forgotten")
    right: tuple[UUID, ...] = Field(default=(), description="what a person found right in its place")


class Need(Message):
    """Something that needs a person; its fields depend on its kind."""

    kind: Literal[
        "conflict",
        "stale memory",
        "recheck",
        "dead letter",
        "rubric",
        "submitter",
        "names",
        "duplicate",
        "question",
        "promotion",
    ]
    key: str = Field(description="another one for each")
    since: float | None = Field(description="Unix time in seconds")
    pool: str | None
    memories: tuple[JudgedMemory, ...] = Field(
        default=(),
        description="of a conflict and of duplicates the older one first; of a question the nearest; the stale ones "
        "of one cause, each with all its causes in `because`; of a recheck those that nobody confirmed",
    )
    others: tuple[Need, ...] = Field(default=(), description="other contradictions about the same question")
    better: UUID | None = Field(default=None, description="of two the one for which more clearly speaks")
    speaks: str | None = None
    claims: str | None = Field(default=None, description="what the memories of a conflict claim")
    source: StaleSource | None = Field(
        default=None, description="what stale memories were written from; null where it is gone for good, or not known"
    )
    repeats: tuple[UUID, ...] = Field(default=(), description="the stale memories in which its words stand")
    letter: DeadLetterReply | None = None
    alike: tuple[DeadLetterReply, ...] = Field(
        default=(), description="later dead letters of the same reason, of whatever stage, the oldest first"
    )
    rubric: RubricReply | None = None
    submitter: SubmitterReply | None = Field(default=None, description="one whom many words have not proven")
    why: str | None = Field(
        default=None, description="of a recheck what nobody could check, of duplicates how their answers differ"
    )
    cosine: float | None = Field(default=None, description="of duplicates")
    names: SimilarReply | None = Field(default=None, description="two names that may mean one concept")
    promotion: Proposal | None = Field(default=None, description="of a memory that may be promoted to another pool")
    question: QuestionReply | None = Field(default=None, description="one that an agent is to be asked, or not")


class NeedsReply(Message):
    """Everything that needs a person, the oldest first, and the total number."""

    total: int
    needs: tuple[Need, ...]
    missing: tuple[str, ...] = Field(
        default=(), description="why some of it is left out, such as that the memory service does not answer"
    )


class NeedsCalls(Calls[Asked]):
    """Everything that needs a person."""

    @call("get_needs", "GET", "/v1/needs")
    def list(self, *, limit: int = 100) -> NeedsReply:
        """Everything in your pools that needs a person, the oldest first.

        Memories that contradict each other and nobody has decided on, those of one question together, stale ones, those
        of one cause together, checks that broke, and memories that nothing has confirmed for 90 days of use, with the
        right `recall`; dead letters, and rubrics that nobody has approved, with `admin`. With `recall` also
        submitters whom ten words have not proven, questions that were proposed or asked in vain, memories proposed for
        another pool, and of pools for which that was asked lately names that may mean one concept, 20 of a pool at a
        time, and duplicates.
        """
