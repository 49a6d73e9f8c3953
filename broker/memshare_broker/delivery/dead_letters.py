"""Dead letters: messages that were given up, kept with the reason until a person decides."""

from __future__ import annotations

import json
import time
import traceback
from typing import Literal

import redis
from celery import Celery
from pydantic import Field

from memshare_broker.delivery.journey_records import forgo
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.delivery.publish import publish
from memshare_broker.delivery.schema import DEAD, Entry
from memshare_broker.errors import BadInput, GiveUp, IdTaken, Reason, TryAgain
from memshare_broker.observe.metrics import DEAD_REASONS
from memshare_broker.observe.safe_text import masked
from memshare_broker.wire.messages import Message, derived_id
from memshare_broker.wire.signing import digest

UNREADABLE = "unreadable"  # stands for the task and the stage of a message that names none of ours
LONGEST_KEPT = 100_000  # characters of such a message: more than those of the longest prompt that is taken
Kind = Literal["malformed", "gave-up", "tries", "crash", "bug"]


class DeadLetter(Message):
    """A message that was given up, and why."""

    entry: Entry
    kind: Kind
    reason: Reason = "bug"
    error: str
    traceback: str
    tries: int
    died: float = Field(description="Unix time in seconds")

    @property
    def retriable(self) -> bool:
        """True if there is a task to send again: not for a message that could not be read, or that proved nothing."""
        return self.entry.task != UNREADABLE and self.reason != "signature"


def letter_for(entry: Entry, error: BaseException, *, tries: int, kind: Kind | None = None) -> DeadLetter:
    """The dead letter of a message that ended with `error`."""
    found: Kind = "gave-up" if isinstance(error, GiveUp) else "tries" if isinstance(error, TryAgain) else "bug"
    chosen = kind or found
    return DeadLetter(
        entry=entry,
        kind=chosen,
        reason=reason_of(error, kind),
        error=masked(f"{type(error).__name__}: {error}" if chosen == "bug" else str(error)),
        traceback=masked("".join(traceback.format_exception(error))),
        tries=tries,
        died=time.time(),
    )


def reason_of(error: BaseException, kind: Kind | None) -> Reason:
    """Why it failed, in one of the words that are counted."""
    if kind == "malformed" or isinstance(error, BadInput):
        return "malformed"
    return error.reason if isinstance(error, TryAgain | GiveUp) else "bug"


class DeadLetters:
    """The dead letters of one Redis."""

    def __init__(self, client: redis.Redis, ledger: Ledger) -> None:
        self._client = client
        self._ledger = ledger

    def add(self, letter: DeadLetter) -> bool:
        """Keep a letter; False when another run of the message was through with it before.

        One that came under the id of another task is kept under an id of its own, and that task is left alone.
        """
        try:
            return self._bury(letter)
        except IdTaken:
            return self._bury(letter.model_copy(update={"entry": under_own_id(letter.entry)}))

    def _bury(self, letter: DeadLetter) -> bool:
        return self._ledger.bury(letter.entry, letter.model_dump_json(), letter.reason, letter.error)

    def all(self) -> list[DeadLetter]:
        """Every dead letter, oldest first."""
        letters = [DeadLetter.model_validate_json(text) for text in self._client.hvals(DEAD)]
        return sorted(letters, key=lambda letter: letter.died)

    def ids(self) -> list[str]:
        return [str(message) for message in self._client.hkeys(DEAD)]

    def __contains__(self, letter_id: str) -> bool:
        return bool(self._client.hexists(DEAD, letter_id))

    def get(self, letter_id: str) -> DeadLetter:
        """The dead letter of this id; raises `BadInput` for an unknown id."""
        text = self._client.hget(DEAD, letter_id)
        if text is None:
            raise BadInput(f"No dead letter has the id {letter_id!r}. `memshare dead list` shows them.")
        return DeadLetter.model_validate_json(text)

    def retry(self, app: Celery, letter: DeadLetter) -> bool:
        """Put the message back into its queue under its old id; False when another did so first."""
        if not letter.retriable:
            raise BadInput(
                f"Dead letter {letter.entry.id} cannot be retried: {letter.error} "
                "Submit the task again in the right form, then drop this one."
            )
        if not self._ledger.revive(letter.entry):
            return False
        publish(app, letter.entry)
        return True

    def drop(self, letter: DeadLetter) -> None:
        """Forget the message for good; its journey keeps the reason."""
        self._client.hdel(DEAD, letter.entry.id)
        self._client.hdel(DEAD_REASONS, letter.entry.id)
        forgo(self._client, letter.entry.journey)


def under_own_id(entry: Entry) -> Entry:
    """The entry of a message that has no right to the id it names, under another, which it has at every delivery."""
    own = str(derived_id("refused", entry.task, entry.id, digest(entry.body)))
    return entry.model_copy(update={"id": own, "journey": own, "begins": True})


def unreadable(raw: object, queue: str, message_id: str) -> Entry:
    """A ledger entry for a message that is none of ours, so that it can be kept as a dead letter."""
    text = raw if isinstance(raw, str) else json.dumps(raw, default=repr)
    return Entry(
        id=message_id,
        task=UNREADABLE,
        queue=queue,
        body=text[:LONGEST_KEPT],
        journey=message_id,
        stage=UNREADABLE,
        begins=True,
    )
