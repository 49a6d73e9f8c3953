"""What a stage of a journey is: a hop with its message, the work it does, and what it says of its outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from pydantic import JsonValue

from memshare.broker.delivery.entry import Entry
from memshare.broker.observe.metrics import Sample
from memshare.broker.wire.messages import Message, Priority, derived_id

M = TypeVar("M", bound=Message)


class NextMessage(NamedTuple):
    """A message for the next stage. A stage has one message in a journey."""

    task: str
    queue: str
    stage: str
    body: Message
    journey: str | None = None
    """A journey of its own, which its body names; None: the one that it follows from."""

    def entry(self, journey: str = "", priority: Priority = 3, *, begins: bool = False, decides: bool = True) -> Entry:
        """The message as the ledger has it, not yet signed; it is the same one however often it is made."""
        of = self.journey or journey
        return Entry(
            id=str(derived_id(of, self.stage)),
            task=self.task,
            queue=self.queue,
            body=self.body.model_dump(mode="json"),
            journey=of,
            stage=self.stage,
            priority=priority,
            begins=begins,
            decides=decides,
        )


class Outcome(NamedTuple):
    """What a stage did, for its journey and its caller, what comes after it, and what is counted."""

    record: Message
    following: NextMessage | tuple[NextMessage, ...] | None = None
    ended: str = "done"
    """How it ended, in one of a few words."""
    counted: tuple[Sample, ...] = ()
    kept: Mapping[str, JsonValue] = {}
    """What is known for ever of the journey, beside the fields of the record that its stage names."""

    @property
    def followings(self) -> tuple[NextMessage, ...]:
        """The messages that come after it, none or several."""
        if isinstance(self.following, NextMessage):
            return (self.following,)
        return self.following or ()


@dataclass(frozen=True)
class Stage(Generic[M]):
    """One hop of a journey: a Celery task by name, the message it takes and the function that does the work.

    `run` gets the journey's id and the message. It may be called twice for one message.
    """

    task: str
    name: str
    message: type[M]
    run: Callable[[str, M], Outcome]
    journey_at: tuple[str, ...] = ()
    """Where in the message's JSON the journey's id stands, such as ("task", "journey"). Nowhere: the message begins a
    journey of its own, which has the message's id."""
    begins: bool = False
    """Whether a journey may begin here: then its message is what the journey shows as its task."""
    from_outside: bool = False
    """Whether anybody who reaches the queue may begin a journey here. Every other message is signed."""
    has_result: bool = False
    """Whether a caller waits for its record, as the result of the Celery task."""
    kept: tuple[str, ...] | None = ()
    """Fields of the record that are known for ever of a journey that is kept (`outcome_record`). None where the end of
    the stage, even as a dead letter, says nothing of what became of the journey."""
