"""One Redis, one pool: who has the embedded pool stands in Redis, and a second pool on it is refused.

Agents find one memory service by their Redis. With two embedded pools there, half of what was learnt would lie in
each of them, and nobody would notice.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
from pathlib import Path
from uuid import uuid4

import redis

from memshare_broker.connection import address
from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings
from memshare_broker.steady_thread import steady_thread
from memshare_broker.wire.messages import Message
from memshare_memory.stores.data_folder import pool_id

log = logging.getLogger(__name__)

OWNER = "memshare:pool:owner"
EXPIRY = 30  # seconds since its last sign of life; one that was killed keeps other pools out for no longer
RENEW_EVERY = 5  # seconds

_SCRIPTS = Path(__file__).with_name("owner_scripts")


class PoolOwner(Message):
    """The process that has the pool of a Redis; `pool` is the id that lies in its folder, `claim` that of the claim."""

    host: str
    folder: str
    pool: str
    pid: int
    claim: str


class Claim:
    """The pool of this process, claimed for its Redis until it is released; a thread of its own renews the claim.

    `lost_to` names another pool that took over while this process was away for longer than a claim lasts.
    """

    def __init__(self, client: redis.Redis, owner: PoolOwner) -> None:
        self.owner = owner
        self.lost_to: PoolOwner | None = None
        self._record = owner.model_dump_json()
        self._client = client
        self._renew, self._release = (_script(client, name) for name in ("renew", "release"))
        self._released = threading.Event()
        self._thread = steady_thread("pool-owner", self.renew, self._released, every=RENEW_EVERY, delay=RENEW_EVERY)

    def renew(self) -> bool:
        """Give a sign of life; returns whether this process still owns the pool of its Redis."""
        found = self._renew(keys=[OWNER], args=[self._record, EXPIRY])
        other = PoolOwner.model_validate_json(found) if found else None
        if other and other != self.lost_to:
            log.error("%s Stop one of the two.", _refusal(self.owner, other))
        self.lost_to = other
        return other is None

    def release(self) -> None:
        """Let another pool claim this Redis at once."""
        self._released.set()
        self._thread.join()
        try:
            self._release(keys=[OWNER], args=[self._record])
        except redis.RedisError as error:
            log.warning("The claim on the pool ends in %d s, Redis does not do its part: %s", EXPIRY, error)


def claim(client: redis.Redis, settings: Settings) -> Claim | None:
    """Claim the Redis of the settings for the embedded pool of the settings; None where the pool is on a server.

    The same folder takes over from itself at once. Raises `BadInput` while another folder has it.
    """
    if not settings.pool_is_embedded:
        return None
    identity = pool_id(settings.data)
    mine = PoolOwner(
        host=socket.gethostname(), folder=str(settings.data), pool=identity, pid=os.getpid(), claim=uuid4().hex
    )
    refused = _script(client, "claim")(keys=[OWNER], args=[mine.model_dump_json(), identity, EXPIRY])
    if refused:
        other, seconds = PoolOwner.model_validate_json(refused[0]), refused[1]
        raise BadInput(
            f"{_refusal(mine, other, address(settings.redis))} Start this one with the same MEMSHARE_DATA as that one"
            " (after that one has ended), give it a Redis of its own with MEMSHARE_REDIS_URL, or keep the pool on a"
            " Qdrant server with MEMSHARE_QDRANT_URL, for any number of processes. If the other one was killed, this"
            f" is free in {seconds} s."
        )
    return Claim(client, mine)


def _refusal(mine: PoolOwner, other: PoolOwner, redis_address: str = "this Redis") -> str:
    return (
        f"One Redis is for one embedded pool: {redis_address} belongs to the pool in {other.folder!r} on {other.host!r}"
        f" (process {other.pid}), and not to the one in {mine.folder!r} on {mine.host!r}."
    )


def _script(client: redis.Redis, name: str) -> redis.commands.core.Script:
    return client.register_script((_SCRIPTS / f"{name}.lua").read_text())
