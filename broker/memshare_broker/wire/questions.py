"""The messages of interactive learning: a standard answer, and the question that an agent's model asks for it."""

from __future__ import annotations

from pydantic import Field

from memshare_broker.wire.forms import Label, Written
from memshare_broker.wire.messages import Message, Usage


class QuestionTask(Message):
    """What a client submits to `agents.NAME.question`: a standard answer, for which a question is wanted.

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
