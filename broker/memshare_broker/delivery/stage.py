"""Stages of a journey: each is a hop with its message, the work it does, and the outcome it reports.

Around all of them is one shell: read the message, run the pure part, record it once, send the next message.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple

import celery
from celery import Celery, signals
from celery.exceptions import Ignore, Reject
from celery.utils.time import get_exponential_backoff_interval
from pydantic import JsonValue
from redis.exceptions import ResponseError

from memshare_broker.connection import DOWN, is_outage
from memshare_broker.delivery import incoming
from memshare_broker.delivery.dead_letters import DeadLetters, Kind, letter_for, reason_of
from memshare_broker.delivery.hops import ANSWER, QUESTION, Hop, M, NextMessage
from memshare_broker.delivery.ledger import Failures, Ledger, revoked, success
from memshare_broker.delivery.publish import ACKNOWLEDGED, LATER, outgoing
from memshare_broker.delivery.schema import Entry
from memshare_broker.errors import OUTAGES, BadInput, GiveUp, IdTaken, MemshareError, NotYet, TryAgain
from memshare_broker.observe import tracing
from memshare_broker.observe.logs import ids
from memshare_broker.observe.metrics import Sample, count
from memshare_broker.observe.safe_text import REPR_LENGTH
from memshare_broker.presence import WORKER_INCARNATION
from memshare_broker.wire.messages import Cancellation, Message, Record
from memshare_broker.wire.signing import Signer

log = logging.getLogger(__name__)

STARTS_BEFORE_CRASH = 5
SENT_AT_ONCE = 100  # messages
PRIORITY: ContextVar[int] = ContextVar("priority", default=0)
"""The priority of the message whose stage runs in this thread."""
BACK_OFF_BASE, BACK_OFF_CAP = 2, 60  # seconds
PAID_TRIES = 3  # of what a model was paid for, and was of no use
OUTAGE_CAP = 15  # seconds; that long after an outage all goes on


class Outcome(NamedTuple):
    """Outcome of a stage: the record for its journey and caller, the messages that follow, and the counted samples."""

    record: Message
    following: NextMessage | tuple[NextMessage, ...] | None = None
    ended: str = "done"
    """How it ended, in one of a few words."""
    counted: tuple[Sample, ...] = ()
    kept: Mapping[str, JsonValue] = {}
    """Facts known for ever of the journey, beside the fields of the record that its hop names."""
    goes_without: TryAgain | GiveUp | None = None
    """Why a call failed without which the message ended well: it counts as a try that failed."""

    @property
    def followings(self) -> tuple[NextMessage, ...]:
        """The messages that come after it, none or several."""
        if isinstance(self.following, NextMessage):
            return (self.following,)
        return self.following or ()


@dataclass(frozen=True)
class Stage(Generic[M]):
    """A hop and the function that does its work.

    `run` gets the journey's id and the message. It may be called twice for one message.
    """

    hop: Hop[M, Any]
    run: Callable[[str, M], Outcome]


@dataclass(frozen=True)
class StageServices:
    """The broker's services that every stage needs."""

    ledger: Ledger
    dead_letters: DeadLetters
    tries: int
    retry_seconds: float
    """How long after its first failure a message is still tried again."""
    signer: Signer
    """Knows the messages of this deployment."""

    def send(self, app: Celery, messages: Sequence[NextMessage]) -> None:
        """Note messages in the ledger and publish them, each as one of the journey that it names; twice is once."""
        for some in (messages[first : first + SENT_AT_ONCE] for first in range(0, len(messages), SENT_AT_ONCE)):
            self.ledger.send([outgoing(app, message.entry().signed(self.signer)) for message in some])


def add_stage(app: Celery, stage: Stage[M], services: Callable[[], StageServices]) -> None:
    """Register a stage as a Celery task; `services` is called when the first message comes."""

    @app.task(
        name=stage.hop.task,
        bind=True,
        throws=(MemshareError,),
        resultrepr_maxsize=REPR_LENGTH,
        Request=incoming.SHORT_REQUEST,
        keeps_time=True,
    )
    def work(task: celery.Task[Any, Any], /, *args: Any, **kwargs: Any) -> Record | None:
        try:
            record = _work(task, stage, services(), args, kwargs)
        except (ResponseError, *DOWN) as error:
            # Redis takes no writes, as on a full disk, or is away: Celery could not store a failure either and would
            # forget that the task has ended, so that its place would stay taken for ever. The message goes back.
            log.exception("Redis refuses what the task did; it is run again.", extra=ids(task_id=task.request.id))
            raise Reject(str(error), requeue=LATER) from error
        return record if stage.hop.has_result else None  # nobody waits for the others; the journey has what they did

    @signals.task_revoked.connect(sender=work, weak=False)
    def cancel(request: Any, **_: Any) -> None:
        """Somebody ended the task by Celery's `control.revoke`, before it was begun: nothing more becomes of it."""
        entry, _message, _fault = incoming.read_message(request, stage.hop, tuple(request.args), request.kwargs)
        if incoming.may_come(entry, stage.hop, services().signer):
            _cancel(app, services(), entry, "It was revoked.")


def _work(
    task: celery.Task[Any, Any], stage: Stage[M], services: StageServices, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Record:
    # 1. Read the message. What cannot be read will not get better by waiting.
    entry, message, fault = incoming.read_message(task.request, stage.hop, args, kwargs)
    if not incoming.may_come(entry, stage.hop, services.signer):
        incoming.refuse(services.dead_letters, entry, incoming.unsigned(entry))
    if incoming.is_replayed(entry, stage.hop, services.ledger):
        incoming.refuse(services.dead_letters, entry, incoming.replayed(entry))

    # 2. Renew it in the ledger. A message that has ended hands on what it did, and does nothing.
    try:
        starts, done = services.ledger.begin(entry, WORKER_INCARNATION)
    except IdTaken as error:
        incoming.refuse(services.dead_letters, entry, error)
    if done is not None:
        return done
    if starts < 0:
        raise Ignore
    if fault is not None or message is None:
        return _bury(services, entry, fault or GiveUp("The message is empty."), kind="malformed")
    if starts > STARTS_BEFORE_CRASH:
        crash = GiveUp(f"The task was started {starts - 1} times and its worker ended each time.", "crash")
        return _bury(services, entry, crash, kind="crash")

    now, due = time.time(), task.request.get(incoming.DUE) or 0.0
    if entry.expires is not None and entry.expires <= max(now, due):
        _cancel(task.app, services, entry, "It was not begun by the time after which it was not to run (expires).")
        raise Ignore
    if due > now:
        services.ledger.park(entry, NotYet("It was sent to run at this time.", due - now, hold="its time"))
        raise Ignore

    with _traced(task.request, entry, message):
        return _run(task, stage, services, entry, message)


def _run(task: celery.Task[Any, Any], stage: Stage[M], services: StageServices, entry: Entry, message: M) -> Record:
    # 3. Do the work.
    PRIORITY.set(entry.priority)
    try:
        outcome = stage.run(entry.journey, message)
    except NotYet as error:
        services.ledger.park(entry, error)
        log.info("Waits beside its queue for %.0f s: %s", error.wait, error, extra=_about(entry))
        task.send_event("task-retried", exception=repr(str(error)), traceback="")
        raise Ignore from error
    except TryAgain as error:
        failed = services.ledger.fail(entry, error.reason, asked=error.asked, why=str(error))
        tries = failed.tries
        tried_enough = error.reason not in OUTAGES and (tries >= services.tries or failed.paid >= PAID_TRIES)
        if tried_enough or failed.seconds >= services.retry_seconds:
            return _bury(services, entry, error, tries=tries)
        countdown = min(_countdown(error, failed), services.retry_seconds - failed.seconds)
        log.warning(
            "Tries again in %.0f s: %s", countdown, error, extra=_about(entry, reason=error.reason, tries=tries)
        )
        # Beside its queue, and not in the memory of a worker, which holds so many and then takes nothing.
        why = f"A rate limit holds it, and no try is counted: {error}" if error.reason == "rate limit" else str(error)
        services.ledger.park(entry, NotYet(why, countdown, hold=error.reason), ages=True)
        task.send_event("task-retried", exception=repr(str(error)), traceback="")
        raise Ignore from error
    except BadInput as error:
        return _bury(services, entry, error, kind="malformed")
    except Exception as error:
        if is_outage(error):
            raise  # The ledger keeps the message open: it is sent again once Redis is back.
        # Anything else is a bug: kept with its traceback.
        return _bury(services, entry, error)

    # 4. Record it, strike the message off, acknowledge it, open and publish the next ones: in one step. Another run of
    # the message may have been first: then its record stands, and so does what follows from it.
    record = outcome.record.model_dump(mode="json")
    facts = {field: record[field] for field in stage.hop.kept or () if record.get(field) is not None}
    properties = task.request.properties or {}
    committed = services.ledger.commit(
        entry,
        record,
        [
            outgoing(task.app, message.entry(entry.journey, entry.priority).signed(services.signer), entry.id)
            for message in outcome.followings
        ],
        result=success(task.app, entry.id, record, task.request) if stage.hop.has_result else None,
        counted=(count("memshare_tasks_total", stage=stage.hop.name, outcome=outcome.ended), *outcome.counted),
        facts=facts | dict(outcome.kept),
        details=stage.hop.details,
        tag=properties.get("delivery_tag", ""),
    )
    properties[ACKNOWLEDGED] = True
    if outcome.goes_without and committed.first:
        services.ledger.note_failed(outcome.goes_without, entry.journey)
    if stage.hop.has_result:
        task.request.ignore_result = True  # it is stored already
    _trace_ended(services.ledger, entry, outcome.ended, first=committed.first, did=(message, outcome.record))
    return committed.record


def _countdown(error: TryAgain, failed: Failures) -> float:
    """Seconds: what the other side asked for and up to one more, or ever longer, with full jitter."""
    if error.wait is not None:
        return error.wait + random.random()
    if error.reason in OUTAGES:
        cap = BACK_OFF_CAP if error.reason == "rate limit" else OUTAGE_CAP  # each call may count for the limit, too
        return 1 + random.uniform(0, min(failed.seconds, cap))
    return 1 + get_exponential_backoff_interval(BACK_OFF_BASE, failed.tries - 1, BACK_OFF_CAP, full_jitter=True)


def _bury(
    services: StageServices, entry: Entry, error: Exception, *, tries: int | None = None, kind: Kind | None = None
) -> Record:
    if tries is None:
        tries = services.ledger.fail(entry, reason_of(error, kind), why=str(error)).tries
    letter = letter_for(entry, error, tries=tries, kind=kind)
    first = services.dead_letters.add(letter)
    _trace_ended(services.ledger, entry, "dead", first=first, reason=letter.reason)
    about = _about(entry, kind=letter.kind, reason=letter.reason, tries=tries)
    log.error("Gave up: %s", letter.error, extra=about)
    raise GiveUp(letter.error) from None  # the letter has the rest, without the keys that a provider echoes


def _cancel(app: Celery, services: StageServices, entry: Entry, why: str) -> None:
    told = revoked(app, entry.id, why) if entry.has_result else None
    services.ledger.cancel(entry, Cancellation(at=time.time(), why=why), told, in_hand=True)
    log.info("Cancelled: %s", why, extra=_about(entry))


def _about(entry: Entry, **more: object) -> dict[str, dict[str, str]]:
    return ids(task_id=entry.id, journey=entry.journey, stage=entry.stage, queue=entry.queue, **more)


def _traced(request: Any, entry: Entry, message: Message) -> AbstractContextManager[None]:
    """The span of one run of a stage; `request` is Celery's."""
    pair = getattr(message, "task", message)  # a graded pair has the task in it
    agent = getattr(pair, "agent", entry.queue if _is_first(entry) else None)
    name = f"{entry.stage} {agent}" if _is_first(entry) else entry.stage
    about = {
        "messaging.system": "redis",
        "messaging.destination.name": entry.queue,
        "messaging.message.id": entry.id,
        "memshare.agent": agent,
        "memshare.kind": getattr(pair, "kind", None),
    }
    client = request.get("traceparent") or (request.headers or {}).get("traceparent")
    return tracing.stage(entry.journey, name, {"traceparent": str(client)} if client else {}, about)


def _trace_ended(
    ledger: Ledger, entry: Entry, outcome: str, *, first: bool, did: tuple[Message, ...] = (), reason: str | None = None
) -> None:
    """Tell the span of a run how it ended, and export the root of the trace when the task has been answered: once, by
    the run of the message that was first. `did` is that message and its record."""
    about: tracing.Attributes = {"memshare.outcome": outcome, "memshare.reason": reason}
    tracing.note(about)
    if first and _is_first(entry):
        name, told = f"task {entry.queue}", {}
        if entry.stage in (ANSWER.name, QUESTION.name):
            name, told = f"invoke_agent {entry.queue}", tracing.invocation(entry.queue, *did)
        more = {**about, "error.type": reason, **told}
        tracing.root(entry.journey, name, lambda: ledger.submitted(entry.journey), more)


def _is_first(entry: Entry) -> bool:
    """True if a journey begins with this very message, which gave the journey its id."""
    return entry.id == entry.journey
