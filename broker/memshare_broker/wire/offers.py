"""The message with which anybody has an answer graded that no agent of memshare gave."""

from __future__ import annotations

from uuid import UUID

from pydantic import Field, field_validator

from memshare_broker.wire.forms import Label, Written
from memshare_broker.wire.messages import MAX_MEMORIES, AnsweredTask, Message, Shown


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
        if any(one.share is not None for one in shown):
            raise ValueError("a 'share' is judged by agents of the deployment alone: leave it out")
        return shown

    def answered(self, journey: str) -> AnsweredTask:
        """The pair as the scorer takes it from agents."""
        return AnsweredTask(journey=journey, offered=True, **self.model_dump(exclude={"recall_id", "trial"}))
