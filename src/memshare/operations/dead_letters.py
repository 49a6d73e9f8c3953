"""Dead letters: listed, put back into their queues, or dropped. It takes the right `admin`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from memshare.client.errors import NotFound
from memshare.client.rest.calls.operating import DeadLetterCalls, DeadLetterReply, Dropped, Retried
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller, audit
from memshare.operations.serving import serves
from memshare_broker.delivery.dead_letters import DeadLetter
from memshare_broker.errors import BadInput

LetterId = Annotated[str, Field(min_length=1, max_length=200, description="the `id` that the list shows")]


@serves(DeadLetterCalls.list)
def dead_letters(backend: Backend, caller: Caller) -> list[DeadLetterReply]:
    """The messages that were given up in the caller's pools, oldest first."""
    caller.require("admin")
    with backend.reaching():
        letters = backend.client.dead_letters.all()
    found = [(letter, pool_of_letter(backend, letter)) for letter in letters]
    return [
        DeadLetterReply(
            id=letter.entry.id, journey=letter.entry.journey, task=letter.entry.task, pool=pool, reason=letter.reason,
            error=letter.error, tries=letter.tries, died=letter.died, retriable=letter.retriable, **_texts(letter),
        )
        for letter, pool in found
        if caller.sees(pool)
    ]  # fmt: skip


@serves(DeadLetterCalls.retry)
def retry(backend: Backend, caller: Caller, letter_id: LetterId) -> Retried:
    """Put a message back into its queue, under its old id."""
    letter = _own(backend, caller, letter_id)
    with backend.reaching():
        retried = backend.client.dead_letters.retry(backend.client.app, letter)
    audit(caller, "retry", message=letter_id, journey=letter.entry.journey)
    return Retried(id=letter_id, retried=retried)


@serves(DeadLetterCalls.drop)
def drop(backend: Backend, caller: Caller, letter_id: LetterId) -> Dropped:
    """Drop a message for good."""
    letter = _own(backend, caller, letter_id)
    with backend.reaching():
        backend.client.dead_letters.drop(letter)
    audit(caller, "drop", message=letter_id, journey=letter.entry.journey)
    return Dropped(id=letter_id)


def _own(backend: Backend, caller: Caller, letter_id: str) -> DeadLetter:
    caller.require("admin")
    unknown = NotFound(f"No dead letter of your pools has the id {letter_id!r}.")
    try:
        with backend.reaching():
            letter = backend.client.dead_letters.get(letter_id)
    except BadInput as error:
        raise unknown from error
    if not caller.sees(pool_of_letter(backend, letter)):
        raise unknown
    return letter


def _texts(letter: DeadLetter) -> dict[str, str]:
    """The prompt and the answer that a message is about, as far as it has them itself."""
    body = letter.entry.body
    for part in ("task", "memory"):
        body = body.get(part, body) if isinstance(body, dict) else {}
    found = {name: body.get(name) for name in ("prompt", "answer")} if isinstance(body, dict) else {}
    return {name: text for name, text in found.items() if isinstance(text, str)}


def pool_of_letter(backend: Backend, letter: DeadLetter) -> str | None:
    """The pool that a message was about: it says so itself, or its agent does."""
    first = body = letter.entry.body
    for _ in range(2):
        if isinstance(body, dict):
            if isinstance(pool := body.get("pool"), str):
                return pool
            body = body.get("task")
    return backend.pool_of(letter.entry.queue, str(first.get("submitter")) if isinstance(first, dict) else "")
