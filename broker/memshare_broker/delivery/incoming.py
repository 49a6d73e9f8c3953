"""A task as Celery hands it to a worker: what the ledger knows of it, what it says, and whether it may come.

Anybody may begin a journey, and every other message is one of the deployment's own.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any, NoReturn

from celery.exceptions import Ignore, InvalidTaskError
from celery.worker.request import Request
from pydantic import ValidationError

from memshare_broker.delivery.dead_letters import DeadLetters, letter_for, under_own_id, unreadable
from memshare_broker.delivery.hops import Hop, M
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.delivery.schema import Entry
from memshare_broker.errors import GiveUp
from memshare_broker.observe.logs import ids
from memshare_broker.observe.safe_text import cut, masked
from memshare_broker.wire.forms import readable
from memshare_broker.wire.messages import USUAL_PRIORITY
from memshare_broker.wire.signing import SIGNATURE, Signer, signed_at

DUE = "memshare_due"
"""Header of a task that came with a time at which it is to run: that time, as Unix time in seconds."""
EXPIRES = "memshare_expires"
"""Header of a task that came with a time after which it is not to be begun any more: that time.

Both are for tasks with the option `keeps_time`, in place of Celery's `eta` and `expires`.
"""


def read_message(
    request: Any, hop: Hop[M, Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Entry, M | None, GiveUp | None]:
    """The entry of a message and what it says; or, in place of that, why it cannot be read."""
    queue = (request.delivery_info or {}).get("routing_key") or "unknown"
    if len(args) != 1 or kwargs or not isinstance(args[0], dict):
        entry = unreadable({"args": args, "kwargs": kwargs}, queue, request.id)
        return entry, None, GiveUp(f"{hop.task} takes one JSON object as its only argument.")
    priority = (request.delivery_info or {}).get("priority")
    entry = Entry.model_construct(  # what came was checked as it was taken off the queue
        id=request.id,
        task=hop.task,
        queue=queue,
        body=args[0],
        journey=_journey_of(hop, args[0]) or request.id,
        stage=hop.name,
        priority=priority if isinstance(priority, int) and 0 <= priority <= 9 else USUAL_PRIORITY,
        begins=hop.begins,
        has_result=hop.has_result,
        decides=hop.kept is not None,
        expires=request.get(EXPIRES),
        signature=getattr(request, SIGNATURE, None),
    )
    try:
        return entry, hop.read(args[0]), None
    except ValidationError as error:
        return entry, None, GiveUp(readable(error, hop.task))


def _journey_of(hop: Hop[M, Any], body: Any) -> str | None:
    """The journey that a message names, also where the message is otherwise wrong; None if it names none."""
    if not hop.journey_at:
        return None
    for name in hop.journey_at:
        body = body.get(name) if isinstance(body, dict) else None
    return body if isinstance(body, str) and body else None


log = logging.getLogger(__name__)


def may_come(entry: Entry, hop: Hop[Any, Any], signer: Signer) -> bool:
    """True if a message was signed, or begins a journey of its own at a hop where anybody may do that."""
    return _begins(entry, hop) or signer.proves(entry.signature, entry.task, entry.id, entry.journey, entry.body)


def _begins(entry: Entry, hop: Hop[Any, Any]) -> bool:
    """True if it begins a journey where anybody may; its signature, which can be anything, is then not checked."""
    return hop.from_outside and entry.journey == entry.id


def is_replayed(entry: Entry, hop: Hop[Any, Any], ledger: Ledger) -> bool:
    """True if a message that may come was signed longer ago than records are kept, and is not open.

    Then it may have ended long ago.
    """
    if _begins(entry, hop) or signed_at(entry.signature or "") > time.time() - ledger.keep:
        return False
    return not ledger.open_of([entry.id])


def replayed(entry: Entry) -> GiveUp:
    """The error for a message that is replayed."""
    return GiveUp(
        f"The message {entry.id!r} was signed longer ago than records are kept (MEMSHARE_KEEP_DAYS), and nothing waits "
        "for it, so it was not run: what it does may have been done, and forgotten since.",
        "signature",
    )


def unsigned(entry: Entry) -> GiveUp:
    """The error for a message that had to be signed, and was not."""
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


SHORT_REQUEST = f"{__name__}:ShortRequest"  # as Celery wants it
_TEXTS = ("result", "exception", "args", "kwargs")


_EMBEDDED = frozenset({"callbacks", "errbacks", "chain", "chord"})


class ShortRequest(Request):
    """A request whose arguments and result are cut, in events, in answers to `inspect` and in logs.

    It takes no callbacks: a worker would send them in its own name, to queues that their sender may not reach.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        embedded = self._payload[2]  # type: ignore[attr-defined] # the stubs know of none
        is_plain = isinstance(embedded, Mapping) and embedded.keys() <= _EMBEDDED and not any(embedded.values())
        if embedded is not None and not is_plain:  # Celery takes any field of a request from there
            raise InvalidTaskError(
                "it brings tasks that are to run after it, such as a link, a chord or a chain. Take the answer, and "
                "submit those yourself"
            )
        self._argsrepr = cut(str(self.argsrepr or ""))
        self._kwargsrepr = cut(str(self.kwargsrepr or ""))

    def send_event(self, type: str, **fields: Any) -> None:  # noqa: A002 - Celery's word
        for name in _TEXTS:
            if fields.get(name) is not None:
                fields[name] = cut(str(fields[name]))
        if fields.get("traceback"):
            fields["traceback"] = masked(str(fields["traceback"]))
        super().send_event(type, **fields)

    def info(self, safe: bool = False) -> Any:  # noqa: ARG002 - never anything else
        """The reply to `inspect`: never the arguments themselves."""
        return super().info(safe=True)
