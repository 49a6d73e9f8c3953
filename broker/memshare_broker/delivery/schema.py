"""The ledger in Redis: its keys, its rows, and what its scripts are given and return.

The Lua scripts beside this file are given the keys as the table `key`. A name that ends in a colon is a prefix: the
name of a queue, a journey or a hold follows.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from memshare_broker.observe.metrics import DEAD_REASONS, METRICS
from memshare_broker.scripts import Script
from memshare_broker.wire.messages import Message, Priority, Record
from memshare_broker.wire.signing import Signer, digest

MESSAGES = "memshare:messages"
"""Hash: id of an open message → its `Entry`, so that it can be sent again."""
STARTS = "memshare:starts"
"""Hash: id of an open message → how often a worker has started on it."""
FAILURES = "memshare:failures"
"""Hash: id of an open message → how many tries failed, and since when."""
INCARNATIONS = "memshare:lives"
"""Hash: id of a message → the incarnation of the worker that has taken it off its queue."""
QUEUES = "memshare:queues"
"""Set: every queue that has had a message."""
OPEN = "memshare:open:"
"""Sorted set of a queue: its open messages, waiting and running, by the time of their last sign of life."""
SINCE = "memshare:since:"
"""Sorted set of a queue: its open messages by the time at which they were opened, or went on after they had waited
beside it; those that wait there are not in it."""
PACE = "memshare:pace:"
"""Counter of a queue and a minute: how many of its messages ended; of `done:` and the queue, how many were done."""
PARKED = "memshare:parked"
"""Sorted set: messages that wait beside their queues, by the time until which they wait."""
WHY = "memshare:parked:why"
"""Hash: id of such a message → why it waits."""
LIFTED = "memshare:lifted:"
"""Of a hold: set for a moment after it was lifted."""
DEAD = "memshare:dead"
"""Hash: id of a dead letter → the letter."""
FAILED = "memshare:failed"
"""Hash: reason → how many tries failed for it, ever."""
LAST_FAILED = "memshare:last_failed"
"""Hash: reason → the latest try that failed for it, as JSON: `at`, `error`, `journey`."""
DONE = "memshare:done"
"""Hash: stage → how many of its messages ended, ever."""
JOURNEY = "memshare:journey:"
"""Hash of a journey: what is known of it, by stage."""
TRACE = "memshare:trace:"
"""Hash of a journey: the details of its records, by stage, which are kept for fewer days."""
ENDED = "ended "
"""Of a stage, in a trace: when its message ended, as Unix time in seconds."""
RECENT = "memshare:recent"
"""Sorted set: the journeys that began last, a thousand of them, by the time at which they did; after a colon and an
agent, the last thousand of that agent."""
KEPT = "memshare:kept"
"""Hash: id of a journey that was opened to be kept → what is known of it for ever, as JSON."""
SWEEPING = "memshare:sweeping"
"""Lock of the process that looks for lost messages."""
SWEPT = "memshare:swept"
"""When the last sweep was, by the clock of Redis."""
RESULT = "celery-task-meta-"
"""Celery's: the result of a task."""
UNACKED = "unacked"
"""kombu's hash: delivery tag → a message that a worker holds."""
UNACKED_INDEX = "unacked_index"
"""kombu's sorted set: the same delivery tags by the time at which they were taken."""

TABLE: dict[str, str] = {name.lower(): key for name, key in dict(globals()).items() if name.isupper()}
TABLE |= {"dead_reasons": DEAD_REASONS, "metrics": METRICS}
"""Keys for the scripts: every key above, by its name in small letters."""


def ledger_script(name: str, *before: str) -> Script:
    """A script of the ledger. Some texts of its replies are packed (`packed_json`)."""
    folder = Path(__file__).with_name("lua")
    return Script(str(folder / name), name, *(folder / f"{script}.lua" for script in before), raw=True, key=TABLE)


def open_key(queue: str) -> str:
    return OPEN + queue


def since_key(queue: str) -> str:
    """The same messages by the time at which they were opened."""
    return SINCE + queue


def journey_key(journey: str) -> str:
    return JOURNEY + journey


def trace_key(journey: str) -> str:
    """The details of what is known of a journey."""
    return TRACE + journey


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
    def agent(self) -> str:
        """Whose journey it begins: a pair names its agent, and a task lies in the queue of its own."""
        named = self.body.get("agent") if isinstance(self.body, dict) else None
        return named if isinstance(named, str) else self.queue

    @property
    def owner(self) -> str:
        """Which message a journey of this id belongs to; nothing where another stage's message began it."""
        return digest(self.body) if self.begins and self.id == self.journey else ""

    def signed(self, signer: Signer) -> Entry:
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
