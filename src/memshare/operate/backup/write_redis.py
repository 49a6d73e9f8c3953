"""Writes the keys of a deployment as they were.

Messages that were open are sent by the first sweep: none is on its way to a worker any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import redis

from memshare.client.last_backup import LAST_BACKUP
from memshare.doors.tokens import TOKENS
from memshare.operate.backup.saved_key import ALL, SavedKey, beside, is_of_use
from memshare_broker.app import lists_of
from memshare_broker.delivery.entry import Entry
from memshare_broker.delivery.keys import MESSAGES, OPEN, PARKED, QUEUES, UNACKED, UNACKED_INDEX
from memshare_broker.wire.signing import Signer
from memshare_memory.pool.restoring import RESTORING

_AT_ONCE = 500  # keys of a round trip
_PAIRS = 1_000  # of a hash or a sorted set in one command
_LONG_AGO = "0"


def write_keys(
    client: redis.Redis,
    lines: Iterable[str],
    signer: Signer | None,
    progress: Callable[[], None],
    *,
    tokens: bool = False,
) -> int:
    """Write keys; open messages get the signature of this deployment where they had that of another.

    Without `tokens` those of the doors stay as they are here; returns how many were left out.
    """
    left_out = 0
    parked: set[str] = set()
    queues: list[SavedKey] = []
    with client.pipeline(transaction=False) as change:
        for number, line in enumerate(lines):
            saved = SavedKey.model_validate_json(line)
            if saved.key == PARKED:
                parked = {one for one, _ in saved.pairs}
            if saved.key == TOKENS and not tokens:
                left_out = len(saved.pairs)
            elif saved.key.startswith(OPEN):
                queues.append(saved)
            else:
                _write(change, _signed(saved, signer) if saved.key == MESSAGES and signer else saved)
            if number % _AT_ONCE == 0:
                change.execute()
            progress()
        for saved in queues:
            _write(change, _overdue(saved, parked))
        change.execute()
    return left_out


def remove_keys(client: redis.Redis, *, tokens: bool = False) -> None:
    """Remove all that a deployment keeps in this Redis, and its messages on their way; its tokens only if wanted.

    When its last backup was made stays: that is there still, whatever is restored.
    """
    queues = [str(one) for one in client.smembers(QUEUES)]
    gone = [place for queue in queues for place in lists_of(queue)] + [UNACKED, UNACKED_INDEX]
    for name in client.scan_iter(ALL, count=1_000):
        key = str(name)
        if key not in (RESTORING, LAST_BACKUP) and (tokens or key != TOKENS):
            gone.append(key)
        gone += beside(key)
    for start in range(0, len(gone), _AT_ONCE):
        client.unlink(*gone[start : start + _AT_ONCE])


def is_used(client: redis.Redis) -> bool:
    """Whether a deployment has anything in this Redis that would be lost."""
    return any(is_of_use(str(key)) for key in client.scan_iter(ALL, count=1_000))


def _write(change: redis.client.Pipeline, saved: SavedKey) -> None:
    values = [text.encode("latin-1") for text in saved.texts]
    for start in range(0, len(values), 2 * _PAIRS):
        some = values[start : start + 2 * _PAIRS]
        if saved.type == "string":
            change.set(saved.key, some[0])
        elif saved.type == "list":
            change.rpush(saved.key, *some)
        elif saved.type == "set":
            change.sadd(saved.key, *some)
        elif saved.type == "hash":
            change.hset(saved.key, items=some)
        else:
            change.zadd(saved.key, dict(zip(some[::2], map(float, some[1::2]), strict=True)))
    if saved.expires is not None:
        change.pexpireat(saved.key, saved.expires)


def _overdue(saved: SavedKey, parked: set[str]) -> SavedKey:
    """The open messages of a queue, as if they had been silent for long; those that wait for their time keep it."""
    pairs = [(one, score if one in parked else _LONG_AGO) for one, score in saved.pairs]
    return saved.model_copy(update={"value": [part for pair in pairs for part in pair]})


def _signed(saved: SavedKey, signer: Signer) -> SavedKey:
    made: list[str] = []
    for one, text in saved.pairs:
        entry = Entry.model_validate_json(text.encode("latin-1"))
        if entry.signature is not None:
            text = entry.signed(signer).model_dump_json().encode().decode("latin-1")
        made += [one, text]
    return saved.model_copy(update={"value": made})
