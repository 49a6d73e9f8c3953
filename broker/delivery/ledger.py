"""The ledger: which accepted messages are still open, and what became of the others.

Celery on Redis can lose a message whose worker is killed. So every message is written here before it is
published, and struck off once, in one step with the record of what it did. What stays open for too long and
is in no queue is sent again under the same id (`memshare.broker.delivery.sweeper`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import redis
from celery import Celery
from pydantic import JsonValue

from memshare.broker.app import queue_named
from memshare.broker.delivery import ledger_scripts
from memshare.broker.errors import NotYet, QueueFull, Reason
from memshare.broker.observe.masking import shortened
from memshare.broker.observe.metrics import Sample, count, flat
from memshare.broker.wire.messages import Message, Priority, Record

MESSAGES, STARTS, DEAD, QUEUES = "memshare:messages", "memshare:starts", "memshare:dead", "memshare:queues"
DONE = "memshare:done"
LIVES = "memshare:lives"  # hash: id of a message → the life of the worker that has taken it off its queue
PARKED, WHY = "memshare:parked", "memshare:parked:why"  # by the time until which they wait; id → why
FAILED = "memshare:failed"  # hash: reason → how many tries failed for it, ever
LIFTED, LIFTED_SECONDS = "memshare:lifted:", 60  # longer than it takes from looking at a hold to parking for it
COME_BACK = (5.0, 600.0)  # seconds; the least and the most that a full queue asks to wait


class Entry(Message):
    """One message of the ledger: enough to publish it again."""

    id: str
    task: str
    queue: str
    body: JsonValue
    journey: str
    stage: str
    priority: Priority = 3


class Parked(Message):
    """A message that waits beside its queue: `until` is Unix time in seconds, `hold` names what holds it back."""

    id: str
    queue: str
    until: float
    why: str
    hold: str


class Result(NamedTuple):
    """A task's result as Celery keeps it: its key, its text, and for how many seconds."""

    key: str
    text: str
    keep: int


class Ledger:
    """The open messages and the journeys, in one Redis; every method is one atomic script."""

    def __init__(self, client: redis.Redis, keep_days: float) -> None:
        self._client = client
        self._keep = str(int(keep_days * 86_400))
        self._hold = client.register_script(ledger_scripts.HOLD)
        self._release = client.register_script(ledger_scripts.RELEASE)
        self._scripts = {
            name: client.register_script(ledger_scripts.COMMON + getattr(ledger_scripts, name.upper()))
            for name in ("open", "begin", "commit", "postpone", "park", "fail", "bury", "revive")
        }

    def open(self, entry: Entry, limit: int = 0, *, keep: bool = False) -> bool:
        """Write a message down before it is published; False when it is open or has ended already.

        With `keep` it begins a journey of which it is known for ever what became of it (see `outcome_record`).
        Raises `QueueFull` when its queue has `limit` open messages; 0 is no limit.
        """
        reply = self._run("open", entry, [str(limit), "kept" if keep else ""])
        if reply[0] == "full":
            raise _full(entry.queue, limit, length=int(reply[1]), pace=int(reply[2]))
        return bool(reply[0] == "opened")

    def hold(self, message_id: str, life: str) -> None:
        """Note that a worker of this life has taken a message off its queue, to run it next."""
        self._hold(keys=[MESSAGES, LIVES], args=[message_id, life])

    def begin(self, entry: Entry, life: str) -> tuple[int, Record | None]:
        """Renew a message that a worker of this life starts on, or adopt one that another client published.

        Returns how often it was started without an end, this time included, and None; or 0 and the record of
        what it did, when it has ended already; or -1 and None when it is a dead letter.
        """
        starts, done = self._run("begin", entry, [life])
        return int(starts), json.loads(done) if done else None

    def commit(
        self,
        entry: Entry,
        record: Record,
        following: Entry | None,
        result: Result | None = None,
        counted: Iterable[Sample] = (),
    ) -> Record:
        """Record what a message did, strike it off, open the one that follows, tell its result and count, in one step.

        Returns the record that stands: another's, when the message ran twice and the other was first.
        """
        extra = [json.dumps(record)]
        extra += [following.id, following.queue, following.model_dump_json()] if following else ["", "", ""]
        extra += [result.key, result.text, str(result.keep)] if result else ["", "", "0"]
        extra += flat(counted)
        done = self._run("commit", entry, extra, [open_key(following.queue if following else entry.queue)])
        return dict(json.loads(done)) if done else record

    def postpone(self, entry: Entry, seconds: float) -> None:
        """Leave a message alone until its next try."""
        self._run("postpone", entry, [str(seconds)])

    def park(self, entry: Entry, reason: NotYet) -> None:
        """Set a message aside, out of its queue, until its time comes or what holds it back is lifted."""
        why = Parked(id=entry.id, queue=entry.queue, until=0, why=str(reason), hold=reason.hold)
        self._run("park", entry, [str(reason.wait), why.model_dump_json(), reason.hold])

    def parked(self) -> list[Parked]:
        """The messages that wait beside their queues, the next one first."""
        until = {str(pair[0]): float(pair[1]) for pair in self._client.zrange(PARKED, 0, -1, withscores=True)}
        why = [Parked.model_validate_json(text) for text in self._client.hvals(WHY)]
        waiting = [one.model_copy(update={"until": until[one.id]}) for one in why if one.id in until]
        return sorted(waiting, key=lambda one: one.until)

    def waits(self, message_id: str) -> Parked | None:
        """Why a message waits beside its queue, if it does."""
        why, until = self._client.hget(WHY, message_id), self._client.zscore(PARKED, message_id)
        if why is None or until is None:
            return None
        return Parked.model_validate_json(why).model_copy(update={"until": float(until)})

    def lift(self, hold: str) -> int:
        """Let the messages that this holds back go on at once; returns how many."""
        self._client.set(LIFTED + hold, 1, ex=LIFTED_SECONDS)
        held = {one.id: 0.0 for one in self.parked() if one.hold == hold}
        if held:
            self._client.zadd(PARKED, held, xx=True)
        return len(held)

    def release(self, most: int) -> list[Entry]:
        """Take back, to be published, up to so many messages whose time has come.

        One that is not published then is sent again by the sweeper.
        """
        texts: Sequence[str] = self._release(keys=[PARKED, WHY, MESSAGES], args=[most])
        return [Entry.model_validate_json(text) for text in texts]

    def fail(self, entry: Entry, reason: Reason) -> tuple[int, float]:
        """Note that a try has failed; returns how many have, this one included, and seconds since the first."""
        tries, seconds = self._run("fail", entry, [reason])
        return int(tries), float(seconds)

    def bury(self, entry: Entry, letter: str, reason: Reason = "bug") -> bool:
        """Strike a message off as a dead letter, given as JSON, and count it; False when another run was through."""
        ended = count("memshare_tasks_total", stage=entry.stage, outcome="dead")
        died = count("memshare_dead_letters_total", reason=reason)
        return bool(self._run("bury", entry, [letter, reason, *flat([ended, died])]))

    def revive(self, entry: Entry) -> bool:
        """Make a dead letter an open message again; False when it is none."""
        return bool(self._run("revive", entry))

    def journey(self, journey: str) -> dict[str, Any]:
        """What is known of a submission, by stage: empty for an unknown id."""
        fields = self._client.hgetall(journey_key(journey))
        return {str(name): json.loads(value) for name, value in fields.items()}

    def submitted(self, journey: str) -> float | None:
        """When a task was submitted, as Unix time in seconds; None for an unknown one."""
        at = self._client.hget(journey_key(journey), "submitted")
        return float(at) if at else None

    def done(self) -> dict[str, int]:
        """How many messages of each stage have ended, ever."""
        counts = self._client.hgetall(DONE)
        return {str(stage): int(count) for stage, count in counts.items()}

    def failed(self) -> dict[str, int]:
        """How many tries have failed, ever, by reason."""
        return {str(reason): int(count) for reason, count in self._client.hgetall(FAILED).items()}

    def open_messages(self) -> dict[str, int]:
        """How many messages of each queue are open: waiting, running or between two tries."""
        queues = sorted(map(str, self._client.smembers(QUEUES)))
        return {queue: self._client.zcard(open_key(queue)) for queue in queues}

    def _run(self, name: str, entry: Entry, extra: list[str] = [], keys: list[str] = []) -> Any:  # noqa: B006
        return self._scripts[name](
            keys=[open_key(entry.queue), MESSAGES, STARTS, DEAD, journey_key(entry.journey), QUEUES, *keys],
            args=[entry.id, entry.queue, entry.stage, entry.model_dump_json(), self._keep, *extra],
        )


def _full(queue: str, limit: int, length: int, pace: int) -> QueueFull:
    """`pace` is how many messages of the queue ended in a minute: what frees a tenth of it is worth waiting for."""
    shortest, longest = COME_BACK
    wait = min(max(60 * limit / 10 / pace, shortest), longest) if pace else 60.0
    return QueueFull(
        f"The queue {queue!r} is full: {length:,} messages are open, and {limit:,} is the limit "
        f"(MEMSHARE_QUEUE_LIMIT). Come back in {wait:.0f} s, or start more workers for it.",
        wait,
        length,
    )


def open_key(queue: str) -> str:
    """The sorted set of a queue's open messages, waiting and running, by the time of their last sign of life."""
    return f"memshare:open:{queue}"


def since_key(queue: str) -> str:
    """The sorted set of a queue's open messages by the time at which they were opened, or went on after they had waited
    beside it; those that wait there are not in it."""
    return f"memshare:since:{queue}"


def journey_key(journey: str) -> str:
    return f"memshare:journey:{journey}"


def publish(app: Celery, entry: Entry) -> None:
    """Send the message of a ledger entry to its queue."""
    app.send_task(
        entry.task,
        [entry.body],
        task_id=entry.id,
        queue=queue_named(entry.queue),  # type: ignore[arg-type] # the stubs know of names only
        priority=entry.priority,
        argsrepr=shortened(entry.body),
        ignore_result=entry.stage != "answer",
        root_id=entry.journey,
        retry=True,
    )
