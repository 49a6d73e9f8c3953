"""Finds messages that got lost between queue and worker, and sends them again under the same id."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import redis
from celery import Celery
from kombu.exceptions import OperationalError
from pydantic import ValidationError
from redis.exceptions import LockNotOwnedError
from redis.lock import Lock

from memshare_broker import leases
from memshare_broker.app import lists_of
from memshare_broker.connection import DOWN
from memshare_broker.delivery import schema
from memshare_broker.delivery.publish import publish
from memshare_broker.delivery.schema import Entry, ledger_script, open_key
from memshare_broker.observe.logs import ids
from memshare_broker.presence import INTERVAL, LIFETIME, forget, present_and_vanished, shorten_presences
from memshare_broker.wire.messages import Parked
from memshare_broker.wire.signing import Signer

RELEASE = ledger_script("release")
LIFTED_SECONDS = 60  # longer than it takes from looking at a hold to parking for it


class ParkedMessages:
    """The parked messages of one Redis; the ledger parks them."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    def all(self) -> list[Parked]:
        """All of them, the next one first."""
        until = {str(pair[0]): float(pair[1]) for pair in self._client.zrange(schema.PARKED, 0, -1, withscores=True)}
        why = [Parked.model_validate_json(text) for text in self._client.hvals(schema.WHY)]
        waiting = [parked.model_copy(update={"until": until[parked.id]}) for parked in why if parked.id in until]
        return sorted(waiting, key=lambda parked: parked.until)

    def why(self, message_id: str) -> Parked | None:
        return self.of([message_id]).get(message_id)

    def of(self, ids: Sequence[str]) -> dict[str, Parked]:
        """The messages of these ids that wait beside their queues, by id."""
        if not ids:
            return {}
        with self._client.pipeline(transaction=False) as ask:
            ask.hmget(schema.WHY, list(ids))
            ask.zmscore(schema.PARKED, list(ids))
            whys, untils = ask.execute()
        return {
            message: Parked.model_validate_json(why).model_copy(update={"until": float(until)})
            for message, why, until in zip(ids, whys, untils, strict=True)
            if why is not None and until is not None
        }

    def lift(self, hold: str) -> int:
        """Let the messages that this holds back go on at once; returns how many."""
        self._client.set(schema.LIFTED + hold, 1, ex=LIFTED_SECONDS)
        return self.wake_held(hold)

    def wake_held(self, hold: str) -> int:
        """The same, but not for those that it holds back from now on."""
        held = [parked.id for parked in self.all() if parked.hold == hold]
        self.wake(held)
        return len(held)

    def wake(self, ids: Sequence[str]) -> None:
        """Let those of some messages that wait beside their queues go on at once."""
        if ids:
            self._client.zadd(schema.PARKED, dict.fromkeys(ids, 0.0), xx=True)

    def release(self, most: int) -> list[Entry]:
        """Pop up to `most` messages whose time has come from those that wait beside their queues.

        One that is not published then is sent again by the sweeper.
        """
        return [Entry.model_validate_json(text) for text in RELEASE(self._client, most=most)]


log = logging.getLogger(__name__)

LOCK_SECONDS = LIFETIME  # a sweep that was killed keeps others from it for as long as its worker seems to be there
RENEW_EVERY = 100  # messages
PAGE = 1000
TAKEN_WITHIN = 1.0  # seconds between taking a message off its queue and noting that; milliseconds, mostly
AHEAD = 110  # seconds; no clock that is right is as far ahead of itself


def sweep(app: Celery, client: redis.Redis, lease: float) -> list[str]:
    """Send again what got lost, and return the ids.

    Lost is what showed no sign of life for `lease` seconds and is nowhere, and what a worker had taken that
    has vanished. A worker that was killed may have taken a message and not have noted it yet: when
    one has vanished, what is nowhere is lost at once. One process sweeps at a time. What waits in a queue or is held by
    a worker is renewed, so that a long queue is read through once a lease and not at every sweep.
    """
    sent: list[str] = []
    try:
        with leases.lease(client, schema.SWEEPING, LOCK_SECONDS) as lock:
            sent.extend(_sweep(app, client, lease, lock) if lock else ())
    except LockNotOwnedError:
        log.warning("A sweep took longer than %d s for one step; another process may have taken over.", LOCK_SECONDS)
    return sent


def _sweep(app: Celery, client: redis.Redis, lease: float, lock: Lock) -> Iterator[str]:
    workers, gone = present_and_vanished(client)
    there = {worker.incarnation for worker in workers}
    taken = {str(message): str(incarnation) for message, incarnation in client.hgetall(schema.INCARNATIONS).items()}
    orphans = {message: incarnation in gone for message, incarnation in taken.items() if incarnation not in there}
    cared_for = taken.keys() - orphans.keys()
    if _turned_back(client):
        _renew_what_is_ahead(client)
        shorten_presences(client)
    for queue in sorted(map(str, client.smembers(schema.QUEUES))):
        try:
            missed_after = INTERVAL if gone else lease
            yield from _sweep_queue(app, client, lease, missed_after, lock, queue, orphans, cared_for)
        except (*DOWN, LockNotOwnedError, OperationalError):
            raise
        except Exception:
            log.exception("The queue %r cannot be swept; the others are.", queue)
    forget(client, gone, _now(client))


def _sweep_queue(
    app: Celery,
    client: redis.Redis,
    lease: float,
    missed_after: float,
    lock: Lock,
    queue: str,
    orphans: Mapping[str, bool],
    cared_for: set[str],
) -> Iterator[str]:
    now = _now(client)
    stale = _unseen_since(client, queue, now - lease)
    missed = _unseen_since(client, queue, now - missed_after) - stale
    orphaned = _silent(client, queue, orphans, now - LIFETIME)
    if not stale | missed | orphaned:
        return
    lock.reacquire()  # as long as this process works at it, no other need
    waiting = set(_waiting(client, queue))
    lost = (orphaned | (stale - (cared_for & set(_held(client))))) - waiting
    lost |= _nowhere(client, missed - waiting)
    if orphaned:
        client.hdel(schema.INCARNATIONS, *orphaned)
    for number, message_id in enumerate(sorted(stale | orphaned | lost)):
        if number and number % RENEW_EVERY == 0:
            lock.reacquire()
        client.zadd(open_key(queue), {message_id: now}, xx=True)
        text = client.hget(schema.MESSAGES, message_id) if message_id in lost else None
        if text is None:
            continue
        try:
            entry = Entry.model_validate_json(text)
        except ValidationError as error:
            log.error("What the ledger has of a message is none: %s", error, extra=ids(task_id=message_id, queue=queue))
            continue
        publish(app, entry)
        log.warning("Sent a lost message again.", extra=ids(task_id=message_id, queue=queue))
        yield message_id


def lost(client: redis.Redis, queue: str, lease: float) -> list[Parked]:
    """The messages of a queue that are in it no more and at no worker, and until when. The next one comes first."""
    taken = list(map(str, client.hkeys(schema.INCARNATIONS)))
    now = _now(client)
    with client.pipeline(transaction=False) as ask:
        ask.zcard(open_key(queue))
        ask.zinter([schema.PARKED, open_key(queue)])
        ask.zmscore(open_key(queue), ["", *taken])
        for name in lists_of(queue):
            ask.llen(name)
        opened, parked, at_workers, *in_lists = ask.execute()
    if opened <= len(parked) + sum(at is not None for at in at_workers) + sum(in_lists):
        return []  # a long queue is not read through for nothing
    silent = _unseen_since(client, queue, now - INTERVAL) - set(map(str, parked))
    missed = sorted(_nowhere(client, silent - set(_waiting(client, queue))))
    seen = client.zmscore(open_key(queue), missed) if missed else []
    still = [
        (at + lease, name) for name, at in zip(missed, seen, strict=True) if at is not None and at <= now - INTERVAL
    ]
    untils = [(max(until, now) + INTERVAL, name) for until, name in sorted(still)]
    return [Parked(id=name, queue=queue, until=until, why=_lost(until), hold="lost") for until, name in untils]


def _lost(until: float) -> str:
    at = time.strftime("%H:%M:%S UTC", time.gmtime(until))
    return f"It is in no queue and at no worker, as after a failure of Redis: it is sent again at {at}, at the latest."


def _now(client: redis.Redis) -> float:
    seconds, microseconds = client.time()
    return float(seconds + microseconds / 1e6)


def _turned_back(client: redis.Redis) -> bool:
    """True if the clock of Redis has gone back since the last sweep."""
    now = _now(client)
    last = client.set(schema.SWEPT, str(now), get=True)
    return last is not None and now < float(str(last))


def _renew_what_is_ahead(client: redis.Redis) -> None:
    """Messages seem to have been seen in the future: count from now, or they are missed only when that has come."""
    now = _now(client)
    parked = set(client.zrange(schema.PARKED, 0, -1))
    for queue in sorted(map(str, client.smembers(schema.QUEUES))):
        ahead = set(client.zrangebyscore(open_key(queue), now + AHEAD, "+inf")) - parked
        if ahead:
            client.zadd(open_key(queue), {str(message): now for message in ahead}, xx=True)


def _unseen_since(client: redis.Redis, queue: str, moment: float) -> set[str]:
    return {str(message) for message in client.zrangebyscore(open_key(queue), "-inf", moment)}


def _nowhere(client: redis.Redis, ids: set[str]) -> set[str]:
    """Ids of messages, in no queue, that no worker has taken; checked again a moment later."""
    for pause in (0.0, TAKEN_WITHIN):
        if not ids:
            break
        time.sleep(pause)
        taken_by = client.hmget(schema.INCARNATIONS, list(ids))
        ids = {message for message, incarnation in zip(ids, taken_by, strict=True) if incarnation is None}
    return ids


def _silent(client: redis.Redis, queue: str, orphans: Mapping[str, bool], since: float) -> set[str]:
    """Ids of a queue's messages whose workers have vanished, or never said that they are there and did nothing after
    `since`; `orphans` says of each message whether its worker vanished."""
    seen = client.zmscore(open_key(queue), list(orphans)) if orphans else []
    return {
        message
        for (message, vanished), at in zip(orphans.items(), seen, strict=True)
        if at is not None and (vanished or float(at) <= since)
    }


def _waiting(client: redis.Redis, queue: str) -> Iterator[str]:
    strange = 0
    for name in lists_of(queue):
        start = 0
        while items := _raw(client, "LRANGE", name, start, start + PAGE - 1):
            for found in map(_id_in, items):
                strange += found is None
                yield found or ""
            start += PAGE
    if strange:
        about = ids(queue=queue)
        log.warning(
            "%d items in a queue are no messages; the worker that takes them buries them.", strange, extra=about
        )


def _held(client: redis.Redis) -> Iterator[str]:
    cursor = 0
    while True:
        cursor, pairs = _raw(client, "HSCAN", schema.UNACKED, cursor, "COUNT", PAGE)
        values = pairs.values() if isinstance(pairs, dict) else pairs[1::2]
        yield from (_id_in(value) or "" for value in values)
        if int(cursor) == 0:
            return


def _raw(client: redis.Redis, *command: str | int) -> Any:
    """The reply as bytes: what others put into a queue need be no text."""
    return client.execute_command(*command, NEVER_DECODE=True)  # type: ignore[no-untyped-call]


def _id_in(item: bytes) -> str | None:
    """The id of a message as kombu writes it down, in a queue or with its exchange and key; None if it is none."""
    try:
        found = json.loads(item)
        message_id = (found[0] if isinstance(found, list) else found)["headers"].get("id", "")
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return None
    return str(message_id)


FLEETING = (schema.SWEEPING, schema.SWEPT, schema.INCARNATIONS, schema.STARTS, schema.LIFTED, schema.PACE)
"""Beginnings of keys that are no part of a backup."""


def beside(key: str) -> list[str]:
    """The keys that belong to one of ours and do not have our prefix: the result of a journey's first task."""
    return [schema.RESULT + key.removeprefix(schema.JOURNEY)] if key.startswith(schema.JOURNEY) else []


def on_their_way(client: redis.Redis) -> list[str]:
    """The keys of messages that are on their way to workers."""
    queues = map(str, client.smembers(schema.QUEUES))
    return [place for queue in queues for place in lists_of(queue)] + [schema.UNACKED, schema.UNACKED_INDEX]


def reopen(client: redis.Redis, signer: Signer | None) -> None:
    """Make restored messages ones of this deployment, which its first sweep sends.

    They are signed anew where they were signed, and overdue; those that wait for their time keep it.
    """
    parked = set(client.zrange(schema.PARKED, 0, -1))
    for queue in map(str, client.smembers(schema.QUEUES)):
        overdue = [str(message) for message in client.zrange(open_key(queue), 0, -1) if message not in parked]
        if overdue:
            client.zadd(open_key(queue), dict.fromkeys(overdue, 0.0))
    if signer is None:
        return
    for message_id, text in client.hscan_iter(schema.MESSAGES):
        entry = Entry.model_validate_json(text)
        if entry.signature is not None:
            client.hset(schema.MESSAGES, message_id, entry.signed(signer).model_dump_json())
