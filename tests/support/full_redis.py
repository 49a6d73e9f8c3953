"""A Redis that takes no writes, and reads all the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

from tests.support.deployment import wait_for


@contextmanager
def full_memory(client: redis.Redis) -> Iterator[None]:
    client.config_set("maxmemory", 1)
    try:
        yield
    finally:
        client.config_set("maxmemory", 0)


@contextmanager
def full_disk(client: redis.Redis) -> Iterator[None]:
    """Redis cannot write its file, and refuses every write, and even a PING."""
    in_the_way = Path(str(client.config_get("dir")["dir"])) / "dump.rdb"
    in_the_way.mkdir()
    client.config_set("save", "3600 1000000")
    try:
        if not _has_failed(client):  # as it has where the disk was full before
            client.bgsave()
        wait_for(lambda: _has_failed(client), 10, "a save that fails")
        yield
    finally:
        client.config_set("save", "")  # then it takes writes again
        in_the_way.rmdir()


def _has_failed(client: redis.Redis) -> bool:
    return bool(client.info("persistence")["rdb_last_bgsave_status"] == "err")
