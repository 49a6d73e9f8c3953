"""Dead letters: listed, put back into their queues, or dropped."""

from __future__ import annotations

from pydantic import Field

from memshare.client.rest.methods import Asked, Calls, call
from memshare_broker.wire.messages import Message


class DeadLetterReply(Message):
    """A message that was given up."""

    id: str
    journey: str
    task: str
    pool: str | None
    reason: str
    prompt: str | None = Field(default=None, description="of the task, or of the memory that it is about")
    answer: str | None = Field(default=None, description="beside it, where there was one")
    error: str
    tries: int
    died: float
    retriable: bool = Field(description="false for one that could not be read, or proved nothing")


class Retried(Message):
    """A message that is back in its queue; `retried` is false where somebody else was first."""

    id: str
    retried: bool


class Dropped(Message):
    """A message that is forgotten; its journey keeps the reason."""

    id: str


Letters = list[DeadLetterReply]


class DeadLetterCalls(Calls[Asked]):
    """Messages that were given up: list them, put them back into their queues, or drop them."""

    @call("get_dead_letters", "GET", "/v1/dead-letters")
    def list(self) -> Letters:
        """The messages that were given up in your pools, oldest first; it takes the right `admin`."""

    @call("retry_dead_letter", "POST", "/v1/dead-letters/{letter_id}/retry", repeatable=False)
    def retry(self, letter_id: str) -> Retried:
        """Put a message back into its queue, under its old id; it takes the right `admin`."""

    @call("delete_dead_letter", "DELETE", "/v1/dead-letters/{letter_id}", repeatable=False)
    def drop(self, letter_id: str) -> Dropped:
        """Drop a message for good; it takes the right `admin`.

        Its journey keeps the reason.
        """
