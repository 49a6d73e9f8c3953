"""Conflicts: memories that contradict each other, what a person says of it, and all views on a question."""

from __future__ import annotations

from uuid import UUID

from pydantic import Field

from memshare.client.rest.methods import Asked, Calls, call
from memshare_broker.wire.messages import Message
from memshare_memory.belief.lift import Lift
from memshare_memory.curate.requests import ConflictDecision
from memshare_memory.door.messages import JudgedMemory
from memshare_memory.memory import Status


class Contradiction(Message):
    """Two memories that cannot both be true, the older one first; what they claim, where a model said it."""

    memories: tuple[JudgedMemory, JudgedMemory]
    claims: str | None
    confirmed: bool = Field(default=False, description="whether a person has said that they contradict each other")
    right: UUID | None = Field(default=None, description="which of them a person has said to be right")


Contradictions = list[Contradiction]


class View(Message):
    """An answer to a question: who holds it, and how it fared."""

    answer: str
    memories: tuple[UUID, ...] = Field(description="that say so, the most credible first")
    held_by: dict[str, int] = Field(description="their submitters, with the number of each")
    sources: tuple[str, ...] = Field(description="where they were read, if they were")
    since: float = Field(description="when the first was made, as Unix time in seconds")
    status: Status = Field(description="active where one of them is")
    score: float | None = Field(description="mean of the graded ones")
    credibility: float = Field(description="of the most credible one; 1 is untested")
    credits: int = Field(description="graded tasks that were shown them")
    lift: Lift = Field(description="of the one that most is known of")
    contradicts: tuple[int, ...] = Field(description="places of the views that cannot be true beside it, from 0")
    right: bool | None = Field(description="whether a person found it right; null where nobody decided")


class ViewsReply(Message):
    """The views on a question: those found right first, then what is shown, by credibility."""

    pool: str
    question: str
    views: tuple[View, ...]


class ConflictCalls(Calls[Asked]):
    """Memories that contradict each other: list them, and decide; and all views on a question."""

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

    @call("post_views", "POST", "/v1/views")
    def views(
        self, *, memory: UUID | str | None = None, pool: str | None = None, question: str | None = None
    ) -> ViewsReply:
        """Who says what: all answers of a pool to the question of a memory, or to a `question`, hidden ones, too.

        Answers are one view where only case, spaces and the full stop differ.
        """
