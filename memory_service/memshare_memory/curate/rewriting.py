"""After a purge: the files that still have what was removed are rewritten, the pool's and those of Redis."""

from __future__ import annotations

import logging
import time
from typing import Any

import redis
from redis.exceptions import ResponseError

from memshare_memory.forget.answers import FilesRewritten
from memshare_memory.stores.open_store import rewrite_files
from memshare_memory.stores.store import Store

log = logging.getLogger(__name__)

LONGEST = 240.0  # seconds that Redis may take for each of its files
POLL = 0.05


def rewrite_all(store: Store, client: redis.Redis) -> FilesRewritten:
    """Rewrite them, and return when that is done."""
    copies = rewrite_files(store)
    return FilesRewritten(pool=copies is not None, redis=_rewrite_redis(client), copies=copies or ())


def _rewrite_redis(client: redis.Redis) -> bool:
    """Have Redis write its append-only log anew, and its snapshot where it makes any; False where it does not."""
    try:
        if _state(client)["aof_enabled"]:
            client.bgrewriteaof()
            _wait(client, "aof_rewrite_in_progress", "aof_rewrite_scheduled")
            _require_ok(client, "aof_last_bgrewrite_status")
        if client.config_get("save").get("save"):
            client.bgsave()
            _wait(client, "rdb_bgsave_in_progress")
            _require_ok(client, "rdb_last_bgsave_status")
    except (ResponseError, _NotRewritten) as error:
        log.warning("Redis does not rewrite its files, which have what was purged until it does: %s", error)
        return False
    return True


class _NotRewritten(Exception):
    pass


def _state(client: redis.Redis) -> dict[str, Any]:
    return dict(client.info("persistence"))


def _wait(client: redis.Redis, *signs: str) -> None:
    deadline = time.monotonic() + LONGEST
    while any(_state(client).get(sign) for sign in signs):
        if time.monotonic() > deadline:
            raise _NotRewritten(f"it took longer than {LONGEST:.0f} s")
        time.sleep(POLL)


def _require_ok(client: redis.Redis, status: str) -> None:
    if (found := _state(client)[status]) != "ok":
        raise _NotRewritten(f"{status} is {found!r}")
