"""The ledger: which accepted messages are still open, and what became of the others.

Celery on Redis can lose a message whose worker is killed. So every message is written here before it is
published, and struck off once, in one step with the record of what it did. What stays open for too long and
is in no queue is sent again under the same id (`broker.sweeper`).
"""

from __future__ import annotations

import json
from typing import Any

import redis
from celery import Celery
from pydantic import JsonValue

from broker.app import REPR_LENGTH, queue_named
from broker.messages import Message, Priority, Record

MESSAGES, STARTS, DEAD, QUEUES = "memshare:messages", "memshare:starts", "memshare:dead", "memshare:queues"
DONE = "memshare:done"
LIVES = "memshare:lives"  # hash: id of a message → the life of the worker that has taken it off its queue

# KEYS: open set of the queue, messages, starts, dead letters, journey, queues
# ARGV: id, queue, stage, entry, days to keep in seconds
_COMMON = """
local open, messages, starts, dead, journey, queues = unpack(KEYS)
local id, queue, stage, entry, keep = unpack(ARGV)
local time = redis.call('TIME')
local now = time[1] + time[2] / 1e6
local function enter(open, queue, id, entry)
  redis.call('SADD', queues, queue)
  redis.call('HSETNX', messages, id, entry)
  redis.call('ZADD', open, now, id)
end
local function strike()
  redis.call('ZREM', open, id)
  redis.call('HDEL', messages, id)
  redis.call('HDEL', starts, id)
  redis.call('HDEL', 'memshare:lives', id)
end
local function note(field, value)
  redis.call('HSET', journey, field, value)
  redis.call('EXPIRE', journey, keep)
end
local function begin_journey()
  if stage == 'answer' and redis.call('HEXISTS', journey, 'task') == 0 then
    note('task', entry)
    note('submitted', tostring(now))
  end
end
"""
_OPEN = """
if redis.call('HEXISTS', journey, stage) == 1 or redis.call('HEXISTS', dead, id) == 1 then return 0 end
enter(open, queue, id, entry)
begin_journey()
return 1
"""
_BEGIN = """
redis.call('HDEL', 'memshare:lives', id)
local done = redis.call('HGET', journey, stage)
if done then return {0, done} end
if redis.call('HEXISTS', dead, id) == 1 then return {-1, ''} end
enter(open, queue, id, entry)
begin_journey()
redis.call('HSET', 'memshare:lives', id, ARGV[6])
return {redis.call('HINCRBY', starts, id, 1), ''}
"""
# KEYS: messages, lives. ARGV: id, life
_HOLD = "if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then redis.call('HSET', KEYS[2], ARGV[1], ARGV[2]) end"
# More ARGV: record; and for the next message: id, queue, entry. More KEYS: open set of the next queue.
_COMMIT = """
local record, next_id, next_queue, next_entry = unpack(ARGV, 6)
local done = redis.call('HGET', journey, stage)
if done then return done end
note(stage, record)
redis.call('HINCRBY', 'memshare:done', stage, 1)
strike()
if next_id ~= '' then enter(KEYS[7], next_queue, next_id, next_entry) end
return false
"""
_POSTPONE = """
redis.call('ZADD', open, 'XX', now + tonumber(ARGV[6]), id)
redis.call('HDEL', starts, id)
"""
_BURY = """
strike()
redis.call('HSET', dead, id, ARGV[6])
note('dead', ARGV[6])
"""
_REVIVE = """
if redis.call('HDEL', dead, id) == 0 then return 0 end
redis.call('HDEL', journey, 'dead')
enter(open, queue, id, entry)
return 1
"""


class Entry(Message):
    """One message of the ledger: enough to publish it again."""

    id: str
    task: str
    queue: str
    body: JsonValue
    journey: str
    stage: str
    priority: Priority = 3


class Ledger:
    """The open messages and the journeys, in one Redis; every method is one atomic script."""

    def __init__(self, client: redis.Redis, keep_days: float) -> None:
        self._client = client
        self._keep = str(int(keep_days * 86_400))
        scripts = {"open": _OPEN, "begin": _BEGIN, "commit": _COMMIT, "postpone": _POSTPONE, "bury": _BURY}
        scripts["revive"] = _REVIVE
        self._hold = client.register_script(_HOLD)
        self._scripts = {name: client.register_script(_COMMON + body) for name, body in scripts.items()}

    def open(self, entry: Entry) -> bool:
        """Write a message down before it is published; False when it has ended already."""
        return bool(self._run("open", entry))

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

    def commit(self, entry: Entry, record: Record, following: Entry | None) -> Record:
        """Record what a message did, strike it off and open the one that follows, in one step.

        Returns the record that stands: another's, when the message ran twice and the other was first.
        """
        extra = [json.dumps(record)]
        extra += [following.id, following.queue, following.model_dump_json()] if following else ["", "", ""]
        done = self._run("commit", entry, extra, [open_key(following.queue if following else entry.queue)])
        return dict(json.loads(done)) if done else record

    def postpone(self, entry: Entry, seconds: float) -> None:
        """Leave a message alone until its next try."""
        self._run("postpone", entry, [str(seconds)])

    def bury(self, entry: Entry, letter: str) -> None:
        """Strike a message off as a dead letter, given as JSON."""
        self._run("bury", entry, [letter])

    def revive(self, entry: Entry) -> bool:
        """Make a dead letter an open message again; False when it is none."""
        return bool(self._run("revive", entry))

    def journey(self, journey: str) -> dict[str, Any]:
        """What is known of a submission, by stage: empty for an unknown id."""
        fields = self._client.hgetall(journey_key(journey))
        return {str(name): json.loads(value) for name, value in fields.items()}

    def done(self) -> dict[str, int]:
        """How many messages of each stage have ended, ever."""
        counts = self._client.hgetall(DONE)
        return {str(stage): int(count) for stage, count in counts.items()}

    def open_messages(self) -> dict[str, int]:
        """How many messages of each queue are open: waiting, running or between two tries."""
        queues = sorted(map(str, self._client.smembers(QUEUES)))
        return {queue: self._client.zcard(open_key(queue)) for queue in queues}

    def _run(self, name: str, entry: Entry, extra: list[str] = [], keys: list[str] = []) -> Any:  # noqa: B006
        return self._scripts[name](
            keys=[
                open_key(entry.queue),
                MESSAGES,
                STARTS,
                DEAD,
                journey_key(entry.journey),
                QUEUES,
                *keys,
            ],
            args=[entry.id, entry.queue, entry.stage, entry.model_dump_json(), self._keep, *extra],
        )


def open_key(queue: str) -> str:
    """The sorted set of a queue's open messages, waiting and running, by the time of their last sign of life."""
    return f"memshare:open:{queue}"


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
        argsrepr=repr(entry.body)[:REPR_LENGTH],
        ignore_result=entry.stage != "answer",
        root_id=entry.journey,
        retry=True,
    )
