"""The files that `memshare` exported memories to, noted in Redis so that a purge can list them."""

from __future__ import annotations

import json
import socket
import time
from pathlib import Path

import redis

EXPORTS = "memshare:exports"  # hash: JSON of [machine, path] → when it was written, Unix time in seconds


def note_export(client: redis.Redis, file: Path) -> None:
    """Remember that memories were written to a file of this machine."""
    client.hset(EXPORTS, json.dumps([socket.gethostname(), str(file.resolve())]), time.time())


def exported_files(client: redis.Redis) -> list[str]:
    """The files as MACHINE:PATH; one of this machine that is gone is noted no more."""
    found = []
    for name in sorted(map(str, client.hkeys(EXPORTS))):
        machine, path = json.loads(name)
        if machine == socket.gethostname() and not Path(path).is_file():
            client.hdel(EXPORTS, name)
        else:
            found.append(f"{machine}:{path}")
    return found
