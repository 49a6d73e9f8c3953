"""Retrievers: what each pool's has learnt, and going back to an earlier version."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from memshare.client.rest.methods import Asked, Calls, call
from memshare_broker.wire.messages import Message


class VersionReply(Message):
    """A version that can be gone back to; the accuracies, 0 to 1, are of when it was published."""

    version: int
    lessons: int
    accuracy_before: float | None
    accuracy_after: float | None


class RetrieverReply(Message):
    """The retriever of a pool. Accuracy is how likely the memory that it ranks first helps, in what is held out."""

    pool: str
    version: int = Field(description="in use; 0 has learnt nothing")
    fault: str | None = Field(description="why nobody can use that version, if so")
    versions: tuple[VersionReply, ...]
    lessons: dict[str, int] = Field(description="how many came to what")
    labelled_by: dict[str, int] = Field(default={}, description="how many lessons have labels made in which way")
    why: str | None = Field(default=None, description="why the last of those without an update was none")
    accuracy_untrained: float | None
    accuracy: float | None
    error: float | None = Field(description="standard error of the difference of the two")
    held_out: int
    outcomes: int = Field(description="graded answers and feedback that were held out, too")


class FigureReply(Message):
    """A mean before and after, 0 to 1, and the standard error of the difference."""

    before: float
    after: float
    error: float


Figures = dict[Literal["first_helps", "held_out_ndcg", "probe_ndcg"], FigureReply]
MEASURED = "how often what is ranked first helps, and nDCG, in lessons held out; nDCG of other texts"


class ConsolidationReply(Message):
    """Result of the last consolidation. A figure that was not measured, as nothing was trained, is missing."""

    outcome: Literal["consolidated", "refused", "failed"]
    at: float | None
    reason: str = Field(description="empty for who does not see all pools")
    encoder_before: str | None
    encoder: str | None
    lessons: int = Field(description="trained on, and answers that were right")
    memories: int
    held_out: int | None = Field(default=None, description="lessons that the figures are of; null in older records")
    figures: Figures = Field(description=MEASURED)


class TrialReply(Message):
    """Expected gain of a consolidation, as `memshare retriever consolidate --dry-run` measured it."""

    at: float
    seconds: float = Field(description="that the trial took")
    lessons: int = Field(description="trained on, and answers that were right")
    held_out: int = Field(description="lessons that the figures are of")
    accepted: bool = Field(description="whether the encoder would be put into use")
    figures: Figures = Field(description=MEASURED)


class RetrieversReply(Message):
    """The encoder in use, consolidation, and the pools that have had a lesson."""

    encoder: str
    lessons: int
    next_at: int = Field(description="lessons at which consolidation is due")
    fewest: int = Field(description="lessons to train on without which there is none, nor a trial of one")
    waits_for: str
    last: ConsolidationReply | None
    trial: TrialReply | None = Field(description="the last one with the encoder in use")
    pools: tuple[RetrieverReply, ...]


class RolledBackReply(Message):
    """The version that was in use, the one that is, and what became of the lessons between them."""

    before: int
    version: int
    set_aside: int
    brought_back: int


class Retrievers(Calls[Asked]):
    """Learning progress of retrievers."""

    @call("get_retrievers", "GET", "/v1/retrievers")
    def list(self) -> RetrieversReply:
        """The learning progress of the retriever of each of your pools; it takes the right `recall`."""

    @call("rollback_retriever", "POST", "/v1/retrievers/{pool}/rollback", repeatable=False)
    def rollback(self, pool: str, *, to: int | None = None) -> RolledBackReply:
        """Put another version into use, the one before without `to`; it takes the right `admin`.

        0 is the untrained one. What was learnt after it is set aside, and comes back when you go forward again.
        """
