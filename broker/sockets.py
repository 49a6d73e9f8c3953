"""Where the services of a data folder listen: Unix sockets that only its owner can use."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from memshare.broker.errors import BadInput

PATH_LIMIT = 100  # bytes; the kernel takes 107, macOS 103


def socket_path(data: Path, name: str) -> Path:
    """The socket of a service of a data folder, such as `redis`; the same for whoever asks.

    A socket's path may have some hundred bytes only: a deep folder has its sockets in a private folder among the
    temporary files, and so has one with a character that means something in a URL.
    """
    path = data / f"{name}.sock"
    if len(str(path).encode()) <= PATH_LIMIT and not set("%?#") & set(str(path)):
        return path
    digest = hashlib.sha256(str(data).encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"memshare-{os.getuid()}-{digest}" / f"{name}.sock"


def make_room(socket: Path, data: Path) -> None:
    """Make the folder of a socket, for this user alone, and remove what an earlier process left behind.

    Raises `BadInput` where somebody else made the private folder first.
    """
    folder = socket.parent
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    status = folder.stat()
    if folder != data and (status.st_uid != os.getuid() or status.st_mode & 0o077):
        raise BadInput(
            f"The folder {str(folder)!r} for the sockets of {str(data)!r} can be used by others. Remove it, or give "
            "MEMSHARE_DATA a shorter path."
        )
    socket.unlink(missing_ok=True)
