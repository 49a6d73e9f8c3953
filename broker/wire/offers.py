"""The message with which anybody has an answer graded that no agent of memshare gave."""

from __future__ import annotations

from uuid import UUID

from pydantic import Field

from memshare.broker.wire.forms import Label, Written
from memshare.broker.wire.messages import MAX_MEMORIES, AnsweredTask, Message, Shown


class OfferedPair(Message):
    """A prompt and its answer, to `scorer.offer`, with which a journey of its own begins: graded, settled, learnt from.

    `agent` is whose answer it stands as, `shown` are the memories that helped, and `recall_id` is the recall that
    found them.
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

    def answered(self, journey: str) -> AnsweredTask:
        """The pair as the scorer takes it from agents."""
        return AnsweredTask(journey=journey, **self.model_dump(exclude={"recall_id"}))
