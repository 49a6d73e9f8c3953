"""The ledger's part of a backup: which keys are of a moment, and how open messages come back."""

from __future__ import annotations

import redis

from memshare_broker.app import lists_of
from memshare_broker.delivery import keys
from memshare_broker.delivery.entry import Entry
from memshare_broker.wire.signing import Signer

FLEETING = (keys.SWEEPING, keys.SWEPT, keys.INCARNATIONS, keys.STARTS, keys.LIFTED, keys.PACE)
"""Beginnings of keys that are no part of a backup."""


def beside(key: str) -> list[str]:
    """The keys that belong to one of ours and do not have our prefix: the result of a journey's first task."""
    return [keys.RESULT + key.removeprefix(keys.JOURNEY)] if key.startswith(keys.JOURNEY) else []


def on_their_way(client: redis.Redis) -> list[str]:
    """The keys of messages that are on their way to workers."""
    queues = map(str, client.smembers(keys.QUEUES))
    return [place for queue in queues for place in lists_of(queue)] + [keys.UNACKED, keys.UNACKED_INDEX]


def reopen(client: redis.Redis, signer: Signer | None) -> None:
    """Make restored messages ones of this deployment, which its first sweep sends.

    They are signed anew where they were signed, and overdue; those that wait for their time keep it.
    """
    parked = set(client.zrange(keys.PARKED, 0, -1))
    for queue in map(str, client.smembers(keys.QUEUES)):
        overdue = [str(message) for message in client.zrange(keys.open_key(queue), 0, -1) if message not in parked]
        if overdue:
            client.zadd(keys.open_key(queue), dict.fromkeys(overdue, 0.0))
    if signer is None:
        return
    for message_id, text in client.hscan_iter(keys.MESSAGES):
        entry = Entry.model_validate_json(text)
        if entry.signature is not None:
            client.hset(keys.MESSAGES, message_id, entry.signed(signer).model_dump_json())
