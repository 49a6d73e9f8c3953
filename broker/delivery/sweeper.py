"""Finds messages that got lost between queue and worker, and sends them again under the same id."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from contextlib import suppress

import redis
from celery import Celery
from redis.exceptions import LockNotOwnedError
from redis.lock import Lock

from memshare.broker.app import LONGEST_COUNTDOWN, lists_of
from memshare.broker.delivery.entry import Entry
from memshare.broker.delivery.keys import INCARNATIONS, MESSAGES, PARKED, QUEUES, SWEEPING, SWEPT, UNACKED, open_key
from memshare.broker.delivery.publish import publish
from memshare.broker.observe.logs import ids
from memshare.broker.presence import LIFETIME, present, shorten_presences

log = logging.getLogger(__name__)

LOCK_SECONDS = LIFETIME  # a sweep that was killed keeps others from it for as long as its worker seems to be there
RENEW_EVERY = 100  # messages
PAGE = 1000


def sweep(app: Celery, client: redis.Redis, lease: float) -> list[str]:
    """Send again what got lost, and return the ids.

    Lost is what showed no sign of life for `lease` seconds and is nowhere, and what a worker had taken that
    has not been there for a while. One process sweeps at a time. What waits in a queue or is held by a worker
    is renewed, so that a long queue is read through once a lease and not at every sweep.
    """
    lock = client.lock(SWEEPING, timeout=LOCK_SECONDS, blocking=False)
    if not lock.acquire():
        return []
    sent: list[str] = []
    try:
        sent.extend(_sweep(app, client, lease, lock))
        lock.release()
    except LockNotOwnedError:
        log.warning("A sweep took longer than %d s for one step; another process may have taken over.", LOCK_SECONDS)
    except BaseException:
        with suppress(redis.RedisError):  # then it runs out; the fault itself is what is to be told
            lock.release()
        raise
    return sent


def _sweep(app: Celery, client: redis.Redis, lease: float, lock: Lock) -> Iterator[str]:
    there = {worker.life for worker in present(client)}
    taken = {str(one): str(incarnation) for one, incarnation in client.hgetall(INCARNATIONS).items()}
    orphans = [one for one, incarnation in taken.items() if incarnation not in there]
    cared_for = taken.keys() - set(orphans)
    if _turned_back(client):
        _renew_what_is_ahead(client)
        shorten_presences(client)
    for queue in sorted(map(str, client.smembers(QUEUES))):
        now = _now(client)
        stale = {str(one) for one in client.zrangebyscore(open_key(queue), "-inf", now - lease)}
        orphaned = _silent(client, queue, orphans, now - LIFETIME)
        if not stale | orphaned:
            continue
        lock.reacquire()  # as long as this process works at it, no other need
        lost = (orphaned | (stale - (cared_for & set(_held(client))))) - set(_waiting(client, queue))
        if orphaned:
            client.hdel(INCARNATIONS, *orphaned)
        for number, message_id in enumerate(sorted(stale | orphaned)):
            if number and number % RENEW_EVERY == 0:
                lock.reacquire()
            client.zadd(open_key(queue), {message_id: now}, xx=True)
            text = client.hget(MESSAGES, message_id) if message_id in lost else None
            if text is not None:
                publish(app, Entry.model_validate_json(text))
                log.warning("Sent a lost message again.", extra=ids(task_id=message_id, queue=queue))
                yield message_id


def _now(client: redis.Redis) -> float:
    seconds, microseconds = client.time()
    return float(seconds + microseconds / 1e6)


def _turned_back(client: redis.Redis) -> bool:
    """Whether the clock of Redis has gone back since the last sweep."""
    now = _now(client)
    last = client.set(SWEPT, str(now), get=True)
    return last is not None and now < float(str(last))


def _renew_what_is_ahead(client: redis.Redis) -> None:
    """Messages seem to have been seen in the future: count from now, or they are missed only when that has come."""
    now = _now(client)
    parked = set(client.zrange(PARKED, 0, -1))
    for queue in sorted(map(str, client.smembers(QUEUES))):
        ahead = set(client.zrangebyscore(open_key(queue), now + LONGEST_COUNTDOWN, "+inf")) - parked
        if ahead:
            client.zadd(open_key(queue), {str(one): now for one in ahead}, xx=True)


def _silent(client: redis.Redis, queue: str, ids: list[str], since: float) -> set[str]:
    """Those of a queue's messages that showed no sign of life since then."""
    seen = client.zmscore(open_key(queue), ids) if ids else []
    return {one for one, at in zip(ids, seen, strict=True) if at is not None and float(at) <= since}


def _waiting(client: redis.Redis, queue: str) -> Iterator[str]:
    for name in lists_of(queue):
        start = 0
        while texts := client.lrange(name, start, start + PAGE - 1):
            yield from _ids(json.loads(text) for text in texts)
            start += PAGE


def _held(client: redis.Redis) -> Iterator[str]:
    pairs = client.hscan_iter(UNACKED, count=PAGE)
    yield from _ids(json.loads(text)[0] for _, text in pairs)


def _ids(messages: Iterable[dict[str, dict[str, str]]]) -> Iterator[str]:
    for message in messages:
        yield message.get("headers", {}).get("id", "")
