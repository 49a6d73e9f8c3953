"""The ledger: which accepted messages are still open, and what became of the others.

Celery on Redis can lose a message whose worker is killed. So every message is written here before it is published, or
in the same step, and struck off once, in one step with the record of what it did. What stays open for too long and is
in no queue is sent again under the same id (`memshare_broker.delivery.sweeper`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Literal, NamedTuple, cast

import redis
from celery import Celery
from celery.exceptions import TaskRevokedError
from celery.states import REVOKED, SUCCESS
from pydantic import JsonValue

from memshare_broker.app import lists_of
from memshare_broker.delivery import schema
from memshare_broker.delivery.journey_records import join, pack, read_records, split
from memshare_broker.delivery.schema import CeleryResult, Committed, Entry, Outgoing, ledger_script, open_key
from memshare_broker.delivery.sweeper import ParkedMessages
from memshare_broker.errors import OUTAGES, PAID, GiveUp, IdTaken, NotYet, QueueFull, Reason, TryAgain
from memshare_broker.observe.metrics import Sample, count, flat
from memshare_broker.observe.safe_text import masked, without_vectors
from memshare_broker.scripts import Script
from memshare_broker.wire.messages import Cancellation, Parked, Record


def success(app: Celery, task_id: str, record: Record, request: Any) -> CeleryResult:
    """Result of a task that was done; `request` is Celery's."""
    return _result(app.backend, task_id, record, SUCCESS, request)


def revoked(app: Celery, task_id: str, why: str) -> CeleryResult:
    backend: Any = app.backend
    return _result(backend, task_id, backend.prepare_exception(TaskRevokedError(why)), REVOKED, None)


def _result(backend: Any, task_id: str, value: Any, state: str, request: Any) -> CeleryResult:
    meta = backend._get_result_meta(result=value, state=state, traceback=None, request=request)
    meta["task_id"] = task_id
    key = backend.get_key_for_task(task_id)
    return CeleryResult(
        key.decode() if isinstance(key, bytes) else key, str(backend.encode(meta)), int(backend.expires or 0)
    )


Facts = Mapping[str, JsonValue]
"""Facts known for ever of a journey that was opened to be kept (`memshare_broker.delivery.journey_records`)."""

CancelOutcome = Literal["cancelled", "running", "ended"]
"""State of a message whose journey was to end: cancelled, running at this moment, or ended before."""


OPEN, SEND, BEGIN, COMMIT, CANCEL, PARK, FAIL, BURY, REVIVE = (
    ledger_script(name, "common")
    for name in ("open", "send", "begin", "commit", "cancel", "park", "fail", "bury", "revive")
)


class Failures(NamedTuple):
    """The tries of a message that have failed, seconds since the first one, and the tries that were paid for."""

    tries: int
    seconds: float
    paid: int


class Ledger:
    """The open messages and the journeys, in one Redis. What changes them is one atomic script."""

    def __init__(self, client: redis.Redis, keep_days: float, traces_days: float | None = None) -> None:
        """Records are kept for `keep_days`, their details for `traces_days`, or as long."""
        self.parked = ParkedMessages(client)
        self._client = client
        self.keep = int(keep_days * 86_400)  # seconds
        self._keep_details = int((traces_days or keep_days) * 86_400)

    def open(self, entry: Entry, limit: int = 0, *, keep: bool = False, push: Outgoing | None = None) -> bool:
        """Write a message down, and `push` it in the same step; False when it is open or has ended already.

        With `keep` it begins a journey of which it is known for ever what became of it (see `outcome_record`).
        Raises `QueueFull` when its queue has `limit` open messages; 0 is no limit.
        """
        text = entry.model_dump_json()
        shown, owner = pack(text) if entry.begins else "", entry.owner
        place, message = (push.place, push.text) if push else ("", "")
        reply = self._run(
            OPEN, entry, entry=text, shown=shown, limit=limit, is_kept=keep, owner=owner, list=place, message=message
        )
        if reply[0] == b"full":
            raise QueueFull(entry.queue, limit, length=int(reply[1]), pace=int(reply[2]))
        return bool(reply[0] == b"opened")

    def send(self, messages: Sequence[Outgoing]) -> None:
        """Write messages down that follow no other one, and publish them; those that are open or have ended are not."""
        parts = [
            part
            for entry, place, text in messages
            for part in (entry.id, entry.queue, entry.stage, entry.journey, entry.model_dump_json(), place, text)
        ]
        if parts:
            self._run(SEND, messages[0].entry, messages=parts)

    def begin(self, entry: Entry, incarnation: str) -> tuple[int, Record | None]:
        """Renew a message that a worker of this incarnation starts on, or adopt one that another client published.

        Returns how often it was started without an end, this time included, and None; or 0 and the record of
        what it did, when it has ended already; or -1 and None when it is a dead letter. Raises `IdTaken` where its id
        is that of another task.
        """
        text, shown = "", b"1" if entry.begins else b""
        while True:
            starts, *done = self._run(BEGIN, entry, incarnation=incarnation, shown=shown, entry=text, owner=entry.owner)
            if starts != -2:
                break
            text = entry.model_dump_json()
            shown = pack(text) if entry.begins else b""
        if starts == -3:
            raise IdTaken(entry.id)
        return int(starts), join(*done) if done else None

    def commit(
        self,
        entry: Entry,
        record: Record,
        following: Sequence[Outgoing] = (),
        *,
        result: CeleryResult | None = None,
        counted: Iterable[Sample] = (),
        facts: Facts | None = None,
        details: Collection[str] | None = (),
        tag: str = "",
    ) -> Committed:
        """Record what a message did, strike it off, open and publish what follows, tell its result and count, at once.

        `details` are the fields of the record that are kept for fewer days, None for all. `tag` is kombu's delivery
        tag of the message: with it the same step acknowledges it. When the message ran twice and the other run was
        first, its record stands, and nothing else happens.
        """
        sent = [
            part
            for opened, place, text in following
            for part in (opened.id, opened.queue, opened.model_dump_json(), place, text)
        ]
        lasting, apart = split(record, details)
        first, *done = self._run(
            COMMIT,
            entry,
            tag=tag,
            record=_packed(lasting),
            details=_packed(apart) if apart else "",
            keep_details=self._keep_details,
            facts=_json(facts),
            told=result or (),
            following=sent,
            counted=flat(counted),
        )
        return Committed(True, record) if first else Committed(False, join(*done))

    def cancel(
        self, entry: Entry, why: Cancellation, result: CeleryResult | None = None, *, in_hand: bool = False
    ) -> CancelOutcome:
        """End the journey of an open message, and strike the message off.

        One that runs at this moment is "running": it goes on, and nothing follows it; any other is told by `result`.
        `in_hand` is a message that a worker has taken and does not run, whether the ledger knows it or not.
        """
        reply = self._run(
            CANCEL,
            entry,
            why=pack(why.model_dump_json()),
            shown=pack(entry.model_dump_json()) if entry.begins else "",
            owner=entry.owner,
            facts=_json({"outcome": "cancelled"} if entry.decides else None),
            in_hand=in_hand,
            told=result or (),
            counted=flat([count("memshare_tasks_total", stage=entry.stage, outcome="cancelled")]),
        )
        return cast(CancelOutcome, reply.decode())

    def open_of(self, ids: Sequence[str]) -> list[Entry]:
        texts = self._client.hmget(schema.MESSAGES, list(ids)) if ids else []
        return [Entry.model_validate_json(text) for text in texts if text]

    def park(self, entry: Entry, reason: NotYet, *, ages: bool = False) -> None:
        """Set a message aside, out of its queue, until its time comes or what holds it back is lifted.

        One that `ages` is one of the oldest open messages all the same: something is wrong with it.
        """
        why = Parked(id=entry.id, queue=entry.queue, until=0, why=str(reason), hold=reason.hold)
        self._run(PARK, entry, seconds=reason.wait, why=why.model_dump_json(), hold=reason.hold, ages=ages)

    def is_in_hand(self, message_id: str) -> bool:
        """True if a worker that is there, or was a moment ago, works on a message."""
        return bool(self._client.hexists(schema.INCARNATIONS, message_id))

    def fail(self, entry: Entry, reason: Reason, *, asked: bool = True, why: str = "") -> Failures:
        """Note that a try has failed, and why, but do not count it in an outage; returns what has failed so far.

        Where nobody was `asked` only the time of the first one is noted.
        """
        counts, is_paid = reason not in OUTAGES, reason in PAID
        last = _last(why, entry.journey) if why else ""
        tries, seconds, paid = self._run(
            FAIL, entry, reason=reason, counts=counts, is_paid=is_paid, asked=asked, last=last
        )
        return Failures(int(tries), float(seconds), int(paid))

    def note_failed(self, error: TryAgain | GiveUp, journey: str) -> None:
        """Count a call that failed among the tries that did, where its message goes on waiting."""
        with self._client.pipeline() as noted:
            noted.hincrby(schema.FAILED, error.reason, 1)
            noted.hset(schema.LAST_FAILED, error.reason, _last(str(error), journey))
            noted.execute()

    def bury(self, entry: Entry, letter: str, reason: Reason = "bug", error: str | None = None) -> bool:
        """Strike a message off as a dead letter, given as JSON, and count it; False when another run was through.

        `error` says in words why it died. Raises `IdTaken` where its id is that of another task.
        """
        ended = count("memshare_tasks_total", stage=entry.stage, outcome="dead")
        died = count("memshare_dead_letters_total", reason=reason)
        facts = _json({"error": error} if error is not None and entry.decides else None)
        noted = pack(json.dumps(without_vectors(json.loads(letter)), ensure_ascii=False))
        counts = flat([ended, died])
        buried = self._run(
            BURY, entry, letter=letter, shown=noted, reason=reason, facts=facts, owner=entry.owner, counted=counts
        )
        if buried == -1:
            raise IdTaken(entry.id)
        return bool(buried)

    def revive(self, entry: Entry) -> bool:
        """Make a dead letter an open message again; False when it is none."""
        return bool(self._run(REVIVE, entry, entry=entry.model_dump_json()))

    def journey(self, journey: str) -> dict[str, Any]:
        """The records of a submission, by stage; empty for an unknown id."""
        return read_records(self._client, [journey])[0]

    def records(self, journeys: Sequence[str]) -> list[dict[str, Any]]:
        """The same of several submissions, read in one step."""
        return read_records(self._client, journeys)

    def journeys(self, beginning: str, most: int) -> list[str]:
        """Up to `most` journeys whose ids begin with this; it looks at every key there is."""
        place = schema.journey_key("")
        found = self._client.scan_iter(f"{place}{beginning}*", count=1_000)
        return [str(key).removeprefix(place) for key in islice(found, most)]

    def submitted(self, journey: str) -> float | None:
        """When a task was submitted, as Unix time in seconds; None for an unknown one."""
        at = self._client.hget(schema.journey_key(journey), "submitted")
        return float(at) if at else None

    def done(self) -> dict[str, int]:
        """How many messages of each stage have ended, ever."""
        counts = self._client.hgetall(schema.DONE)
        return {str(stage): int(count) for stage, count in counts.items()}

    def failed(self) -> dict[str, int]:
        """How many tries have failed, ever, by reason."""
        return {reason: int(count) for reason, count in failed_tries(self._client).items()}

    def last_failed(self) -> dict[str, dict[str, Any]]:
        """The latest try that failed, by reason: `at`, `error` and `journey`."""
        return {str(reason): json.loads(text) for reason, text in self._client.hgetall(schema.LAST_FAILED).items()}

    def open_messages(self) -> dict[str, int]:
        """How many messages of each queue are open: waiting, running or between two tries."""
        queues = sorted(map(str, self._client.smembers(schema.QUEUES)))
        return {queue: self.open_in(queue) for queue in queues}

    def open_in(self, queue: str) -> int:
        return count_open(self._client, queue)

    def _run(self, script: Script, of: Entry, **more: Any) -> Any:
        about = {"id": of.id, "queue": of.queue, "stage": of.stage, "name": of.journey, "agent": of.agent}
        return script(self._client, keep=self.keep, **about, **more)


def _packed(record: Record | None) -> bytes:
    return pack(json.dumps(record, ensure_ascii=False))


def _json(facts: Facts | None) -> str:
    return json.dumps(facts, ensure_ascii=False) if facts else ""


def _last(why: str, journey: str) -> str:
    return json.dumps({"at": time.time(), "error": masked(why), "journey": journey}, ensure_ascii=False)


def failed_tries(client: redis.Redis) -> dict[str, str]:
    """How many tries have failed in this Redis, ever, by reason, as it stands there."""
    return {str(reason): str(count) for reason, count in client.hgetall(schema.FAILED).items()}


def count_ended(client: redis.Redis, stage: str) -> int:
    """How many messages of a stage have ended in this Redis, ever."""
    return int(client.hget(schema.DONE, stage) or 0)


def count_open(client: redis.Redis, queue: str) -> int:
    """How many messages of a queue are open; in a pipeline it is asked with the rest."""
    return client.zcard(open_key(queue))


class QueueState(NamedTuple):
    """A queue: its open messages, those that no worker has yet, and those that wait beside it.

    `oldest` is the age in seconds of the oldest one that was not set aside; `a_minute` ended in the last full minute,
    and `done_a_minute` of these were done: neither given up nor cancelled.
    """

    open: int
    waiting: int
    parked: int
    oldest: float
    a_minute: int
    done_a_minute: int


def queue_states(client: redis.Redis, also: Iterable[str] = ()) -> dict[str, QueueState]:
    """The state of every queue that has had a message in this Redis, and of some others, by name."""
    queues = sorted({*map(str, client.smembers(schema.QUEUES)), *also})
    seconds, microseconds = client.time()
    now = seconds + microseconds / 1e6
    with client.pipeline(transaction=False) as ask:
        for queue in queues:
            ask.zcard(open_key(queue))
            ask.zintercard(2, [schema.PARKED, open_key(queue)])
            ask.zrange(schema.since_key(queue), 0, 0, withscores=True)
            ask.mget([f"{schema.PACE}{of}{queue}:{int(now // 60) - 1}" for of in ("", "done:")])
            for name in lists_of(queue):
                ask.llen(name)
        replies = iter(ask.execute())
    states = {}
    for queue in queues:
        opened, parked, first, ended, *waiting = islice(replies, 4 + len(lists_of(queue)))
        oldest = max(now - first[0][1], 0.0) if first else 0.0
        states[queue] = QueueState(opened, sum(waiting), parked, oldest, *(int(text or 0) for text in ended))
    return states
