"""Decisions of people: contradictions, duplicates, promotions to another pool, whom to trust, and rubrics on trial."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import Field

from memshare.client.rest.methods import Asked, Calls, call
from memshare_broker.wire.grades import Score
from memshare_broker.wire.messages import Message
from memshare_memory.belief.lift import Lift
from memshare_memory.belief.promotions import Proposal
from memshare_memory.belief.trust import Said
from memshare_memory.curate.requests import ConflictDecision
from memshare_memory.door.messages import JudgedMemory
from memshare_memory.memory import Status
from memshare_scorer.rubric_file import Drafting


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
    credits: int = Field(description="verdicts: grades and feedback after they were shown, of statements if followed")
    lift: Lift = Field(description="of the one that most is known of")
    contradicts: tuple[int, ...] = Field(description="places of the views that cannot be true beside it, from 0")
    right: bool | None = Field(description="whether a person found it right; null where nobody decided")


class ViewsReply(Message):
    """The views on a question: those found right first, then what is shown, in the order of recall."""

    pool: str
    question: str
    views: tuple[View, ...]


class ConflictCalls(Calls[Asked]):
    """Memories that contradict each other: list them, and decide; and all views on a question."""

    @call("get_conflicts", "GET", "/v1/conflicts", tag="conflicts")
    def list(self, *, pool: str | None = None) -> Contradictions:
        """Memories of your pools that cannot both be true, as a model found or a person said."""

    @call("post_conflict", "POST", "/v1/conflicts", tag="conflicts")
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
        `right` says that they do, so it needs no `contradict`. `undecided` takes back what was said.
        """

    @call("post_views", "POST", "/v1/views", tag="conflicts")
    def views(
        self, *, memory: UUID | str | None = None, pool: str | None = None, question: str | None = None
    ) -> ViewsReply:
        """Who says what: all answers of a pool to the question of a memory, or to a `question`, hidden ones, too.

        Answers are one view where only case, spaces, quotation marks and their end differ.
        """


class DuplicateReply(Message):
    """Two memories that are found by nearly the same text, the older one first."""

    memories: tuple[JudgedMemory, JudgedMemory]
    cosine: float
    differ: str = Field(default="", description="in which words their answers differ, where they do not say the same")


class DuplicatesReply(Message):
    """The most alike of those that nobody has decided on."""

    pool: str
    looked_at: int = Field(description="memories that were compared with each other")
    found: int = Field(description="pairs from a cosine of .95, in all")
    duplicates: tuple[DuplicateReply, ...]
    nearest: DuplicateReply | None = Field(default=None, description="where no pair was found, the one most alike")


class DifferentReply(Message):
    """The decision on two memories."""

    memories: tuple[UUID, UUID]
    different: bool


class Duplicates(Calls[Asked]):
    """Memories that are nearly the same: look for them, and decide."""

    @call("get_duplicates", "GET", "/v1/duplicates/{pool}", tag="duplicates")
    def list(self, pool: str) -> DuplicatesReply:
        """Memories of a pool that are nearly the same, among 20,000 of it; it takes the right `recall`.

        It takes some seconds, and is computed once in ten minutes at most.
        """

    @call("post_duplicate", "POST", "/v1/duplicates/{pool}", tag="duplicates")
    def decide(self, pool: str, memories: tuple[UUID | str, UUID | str], *, different: bool = True) -> DifferentReply:
        """Say of two memories that both are wanted, or, without `different`, that this is to be decided again.

        It takes the right `curate`. To keep one of them, forget the other.
        """


Decision = Literal["promote", "refuse", "take back", "undecided"]


class PromotionReply(Message):
    """A proposal with its memory; of a promotion that was taken back, what went with it."""

    memory: JudgedMemory
    proposal: Proposal
    forgotten: tuple[UUID, ...] = Field(default=(), description="what this decision put into the trash")


PromotionsReply = list[PromotionReply]


class PromotionCalls(Calls[Asked]):
    """Memories that are proposed for another pool: list them, and decide."""

    @call("get_promotions", "GET", "/v1/promotions", tag="promotions")
    def list(self) -> PromotionsReply:
        """Memories that were proposed for the next pool of their agent, also those decided on; you see both pools."""

    @call("post_promotion", "POST", "/v1/promotions/{memory_id}", tag="promotions")
    def decide(self, memory_id: UUID | str, decision: Decision = "promote") -> PromotionReply:
        """Promote a memory that is proposed, refuse that, or take it back; it takes the right `curate`.

        Taken back, it goes from the pool that it was promoted to, with all that was written from it, into the trash.
        "undecided" takes back that it was refused.
        """


class SubmitterReply(Message):
    """A submitter of a pool. Worth is in the unit of a cosine, where 0 is the pool's mean."""

    name: str
    worth: float | None = Field(description="null where nobody has said anything of their memories")
    error: float | None
    words: int = Field(description="graded tasks, labels and feedback of others that spoke of their memories")
    proven: bool = Field(description="whether their memories are shown as proven ones: by these words, or by trust")
    said: Said | None = Field(description="what a person said of them")
    by: str | None = Field(description="who said that")


SubmitterReplies = list[SubmitterReply]


class SubmitterCalls(Calls[Asked]):
    """Who brings memories in, and whether they are proven."""

    @call("get_submitters", "GET", "/v1/submitters/{pool}", tag="submitters")
    def list(self, pool: str) -> SubmitterReplies:
        """The submitters of a pool of whom something was said, by name; it takes the right `recall`."""

    @call("post_trust", "POST", "/v1/submitters/{pool}", tag="submitters")
    def trust(
        self, pool: str, submitter: str, *, said: Literal["trust", "leave", "undecided"] = "trust"
    ) -> SubmitterReply:
        """Trust a submitter, whose memories are shown as proven ones from then on; it takes the right `curate`.

        `leave` says that they stay unproven until words prove them, and need nobody; `undecided` takes either back.
        """


class TriedPair(Message):
    """A pair that was graded, and what another rubric says of it."""

    journey: str
    prompt: str
    before: Score
    trial: str = Field(description="the journey in which it is graded by the other rubric")
    after: Score | None = Field(description="null until then")
    error: str | None = Field(description="why it was given up")


TriedPairs = list[TriedPair]


class RubricCalls(Calls[Asked]):
    """Rubrics before they hold."""

    @call("get_drafting", "GET", "/v1/rubrics/{name}/drafting", tag="rubrics")
    def drafting(self, name: str) -> Drafting | None:
        """The drafts of a rubric, what was thought of each, and what was taken; it takes the right `admin`.

        null of a rubric that no model drafted.
        """

    @call("get_rubric_trial", "GET", "/v1/rubrics/{name}/trial", tag="rubrics")
    def tried(self, name: str) -> TriedPairs:
        """A rubric's grades for graded pairs, beside their earlier grades; it takes the right `admin`."""

    @call("try_rubric", "POST", "/v1/rubrics/{name}/trial", tag="rubrics", status=202)
    def try_it(self, name: str, agent: str) -> TriedPairs:
        """Have the last ten graded pairs of an agent graded by another rubric, to see what it says.

        The rubric need not be approved. Nothing is remembered or learnt of it. It takes the right `admin`.
        """
