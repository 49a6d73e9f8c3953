"""What the ledger holds: messages that are open, and those that wait beside their queues."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import JsonValue

from memshare_broker.wire.messages import Message, Priority, Record
from memshare_broker.wire.signing import Signer, digest


class Entry(Message):
    """One message of the ledger: enough to publish it again."""

    id: str
    task: str
    queue: str
    body: JsonValue
    journey: str
    stage: str
    priority: Priority = 3
    begins: bool = False
    """Whether a journey may begin with it: then the journey shows it as its task."""
    has_result: bool = False
    """Whether a caller waits for what it did, as the result of a Celery task."""
    decides: bool = True
    """Whether its end is part of what became of the journey. A lesson's, for one, is not."""
    expires: float | None = None
    """After which it is not begun any more, as Unix time in seconds."""
    signature: str | None = None
    """Proof that a worker of this deployment, or who has its secret, wrote it; what anybody may send needs none."""

    @property
    def owner(self) -> str:
        """Which message a journey of this id belongs to; nothing where another stage's message began it."""
        return digest(self.body) if self.begins and self.id == self.journey else ""

    def signed(self, signer: Signer) -> Entry:
        """The same message with a signature of this deployment."""
        return self.model_copy(update={"signature": signer.sign(self.task, self.id, self.journey, self.body)})


class Parked(Message):
    """A message that waits beside its queue: `until` is Unix time in seconds, `hold` names what holds it back."""

    id: str
    queue: str
    until: float
    why: str
    hold: str


class Cancellation(Message):
    """That a journey was ended before it was through: when, as Unix time in seconds, and why."""

    at: float
    why: str


class CeleryResult(NamedTuple):
    """A task's result as Celery keeps it: its key, its text, and for how many seconds."""

    key: str
    text: str
    keep: int


class Outgoing(NamedTuple):
    """A message on its way: its entry, and the list in Redis and the text with which kombu would push it."""

    entry: Entry
    place: str
    text: str


class Committed(NamedTuple):
    """Whether this run of a message was the first to end, and the record that stands: its own, or the first one's."""

    first: bool
    record: Record
