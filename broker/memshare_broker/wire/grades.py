"""The scorer's grade of a pair, and the pair's outcome at the memory service: messages as in `messages`."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import Field, field_validator

from memshare_broker.wire.forms import Label, Percent, Written
from memshare_broker.wire.messages import MAX_MEMORIES, AnyPair, Message, OutsidePair, Shown, Usage


class OfferedPair(Message):
    """A prompt and its answer, to `scorer.offer`, with which a journey of its own begins: graded, settled, learnt from.

    `agent` is whose answer it stands as, with its `pool` and `rubric`; `shown` are the memories of this pool that
    helped, and `recall_id` is the recall that found them. Shares in an answer are judged by the deployment's own agents
    alone.
    """

    agent: Label
    pool: Label
    rubric: Label
    kind: Label | None = None
    prompt: Written
    answer: Written
    model: Label | None = None
    submitter: Label = "anonymous"
    shown: tuple[Shown, ...] = Field(default=(), max_length=MAX_MEMORIES)
    recall_id: UUID | None = None
    remember: bool = True
    trial: Label | None = Field(default=None, description="a rubric to be graded by instead; nothing else comes of it")

    @field_validator("shown")
    @classmethod
    def _without_shares(cls, shown: tuple[Shown, ...]) -> tuple[Shown, ...]:
        if any(memory.share is not None for memory in shown):
            raise ValueError("a 'share' is judged by agents of the deployment alone: leave it out")
        return shown

    def answered(self, journey: str) -> OutsidePair:
        """The pair as it is graded."""
        return OutsidePair(journey=journey, **self.model_dump(exclude={"recall_id", "trial"}))


class QuestionTask(Message):
    """Task that a client submits to `agents.NAME.question`: a standard answer, for which a question is wanted.

    `round` counts the questions that were wanted for this answer, this one included; `earlier` are those that it got.
    """

    answer: Written
    kind: Label | None = None
    submitter: Label = "anonymous"
    round: int = Field(default=1, ge=1)
    earlier: tuple[str, ...] = Field(default=(), max_length=100)
    remember: bool = True


class Question(Message):
    """The question, to which the standard answer would be a good reply."""

    question: str
    model: str
    usage: Usage
    seconds: float


class CriterionScore(Message):
    """The range a pair got for one criterion, out of its points."""

    low: Percent
    high: Percent
    points: Percent


PROGRAM = "program"
"""Stands in place of the model's name where checks alone have graded."""


class Score(Message):
    """The grade of one pair: the total is out of 100."""

    total: Percent
    threshold: Percent
    accepted: bool
    criteria: dict[str, CriterionScore]
    rubric: str
    rubric_version: str
    model: str
    usage: Usage

    @property
    def by_program(self) -> bool:
        return self.model == PROGRAM


class GradedTask(Message):
    """From the scorer to the memory service: the pair with its score."""

    task: AnyPair
    score: Score


class JudgedAnswer(Message):
    """The memories that an answer was made from, and its verdict, from 0 (wrong) to 1 (right)."""

    shown: tuple[Shown, ...]
    verdict: float = Field(ge=0, le=1)


class VerdictTask(Message):
    """From an agent to the memory service: what an answer was worth that is not handed on to be graded.

    `verdict` is from 0 (wrong) to 1 (right); `others` are more answers that an agent judged on its way.
    """

    journey: str
    pool: Label
    prompt: str
    kind: Label | None = None
    submitter: Label = "anonymous"
    shown: tuple[Shown, ...]
    verdict: float = Field(ge=0, le=1)
    others: tuple[JudgedAnswer, ...] = ()
    pools: tuple[Label, ...] = Field(default=(), description="where the memories may be from; none: its pool")
    takes_back: bool = Field(default=False, description="whether the last word of who submits it is no more, instead")

    @property
    def answers(self) -> tuple[JudgedAnswer, ...]:
        return (JudgedAnswer(shown=self.shown, verdict=self.verdict), *self.others)


class Opinion(Message):
    """Somebody's verdict on an answer, from 0 (wrong) to 1 (right)."""

    by: Label
    reward: float = Field(ge=0, le=1)
    hides: bool = Field(default=False, description="whether what the answer becomes is hidden for it")
    hid: UUID | None = Field(default=None, description="the memory that it hid")

    @property
    def is_wrong(self) -> bool:
        return self.reward < 0.5

    @property
    def found(self) -> Literal["right", "wrong"]:
        """The same as a word."""
        return "wrong" if self.is_wrong else "right"


class MemoriesCredited(Message):
    """How many memories were credited."""

    memories: int


SettlementOutcome = Literal["stored", "duplicate", "replaced", "rejected", "not kept", "not graded"]


class Settlement(Message):
    """Outcome of a graded pair at the memory service; "not graded" is the scorer's word, where there is no model."""

    memory_id: UUID | None
    outcome: SettlementOutcome
    reason: str
    learnt: tuple[UUID, ...] = Field(default=(), description="the statements that the answer has from its sources")
    parts: dict[UUID, UUID] = Field(
        default={},
        description="its sub-questions, each graded in a journey of its own: that, by the memory it may become",
    )
