"""Who may send what: anybody may begin a journey, and every other message is one of the deployment's own."""

from __future__ import annotations

import logging
from typing import Any, NoReturn

from celery.exceptions import Ignore

from memshare_broker.delivery.dead_letters import DeadLetters, letter_for, under_own_id
from memshare_broker.delivery.entry import Entry
from memshare_broker.delivery.hops import Hop
from memshare_broker.errors import GiveUp
from memshare_broker.observe.logs import ids
from memshare_broker.wire.signing import Signer

log = logging.getLogger(__name__)


def may_come(entry: Entry, hop: Hop[Any, Any], signer: Signer) -> bool:
    """Whether a message was signed, or begins a journey of its own at a hop where anybody may do that."""
    if hop.from_outside and entry.journey == entry.id:
        return True
    return signer.proves(entry.signature, entry.task, entry.id, entry.journey, entry.body)


def unsigned(entry: Entry) -> GiveUp:
    """What is said of a message that had to be signed."""
    return GiveUp(
        f"The message {entry.id!r} for a task of the workers has no signature of this deployment, so it was not run. "
        "If a worker of yours sent it, the workers do not have the same MEMSHARE_SECRET: once they have, it is sent "
        "again by itself.",
        "signature",
    )


def refuse(dead_letters: DeadLetters, entry: Entry, error: GiveUp) -> NoReturn:
    """Keep a message that has no right to its id as a dead letter under another one.

    What the ledger has under its id, and a result that waits there, stay as they are: the task does not even fail.
    """
    letter = letter_for(under_own_id(entry), error, tries=1)
    dead_letters.add(letter)
    log.error("Refused: %s", letter.error, extra=ids(task_id=letter.entry.id, queue=entry.queue, reason=letter.reason))
    raise Ignore from error
