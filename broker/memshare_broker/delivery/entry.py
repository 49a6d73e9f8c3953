"""The rows of the ledger, and what its scripts are given and return."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import JsonValue

from memshare_broker.wire.messages import Message, Priority, Record
from memshare_broker.wire.signing import Signer, digest


class Entry(Message):
    """A message of the ledger, with enough to publish it again."""

    id: str
    task: str
    queue: str
    body: JsonValue
    journey: str
    stage: str
    priority: Priority = 3
    begins: bool = False
    """True if a journey may begin with it; the journey then shows it as its task."""
    has_result: bool = False
    """True if a caller waits for its outcome, as the result of a Celery task."""
    decides: bool = True
    """True if its end is part of the journey's outcome. The end of a lesson, for example, is not."""
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
    """The record that stands, of this run or of the message's first run, and whether this run was the first to end."""

    first: bool
    record: Record
