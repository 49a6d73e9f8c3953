"""Where the services of a data folder listen: Unix sockets that only its owner can use."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from memshare_broker.errors import BadInput

PATH_LIMIT = 100  # bytes; the kernel takes 107, macOS 103
FOLDER = ".memshare-sockets"
"""In the home folder: in a folder that others write to, somebody could listen at our address before we do."""


def socket_path(data: Path, name: str) -> Path:
    """The socket of a service of a data folder, such as `redis`; the same for whoever asks.

    A socket's path may have some hundred bytes only: a deep folder has its sockets in a private folder in the home
    folder, and so has one with a character that means something in a URL. Raises `BadInput` where others could use it.
    """
    path = data / f"{name}.sock"
    if _fits(path):
        return path
    digest = hashlib.sha256(str(data).encode()).hexdigest()[:16]
    path = Path.home() / FOLDER / digest / f"{name}.sock"
    if not _fits(path):
        raise BadInput(
            f"The data folder {str(data)!r} has too long a path for its sockets, and so has your home folder."
        )
    for folder in (path.parent.parent, path.parent):
        _require_private(folder, data)
    return path


def make_room(socket: Path, data: Path) -> None:
    """Make the folder of a socket, for this user alone, and remove what an earlier process left behind.

    Raises `BadInput` where others could use the private folder.
    """
    folder = socket.parent
    if folder == data:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    else:
        for one in (folder.parent, folder):
            try:
                one.mkdir(exist_ok=True, mode=0o700)
            except OSError as error:
                raise BadInput(
                    f"The folder {str(one)!r} for the sockets of {str(data)!r} cannot be made ({error.strerror}). Give "
                    "MEMSHARE_DATA a shorter path."
                ) from error
            _require_private(one, data)
    socket.unlink(missing_ok=True)


def _fits(path: Path) -> bool:
    return len(str(path).encode()) <= PATH_LIMIT and not set("%?#") & set(str(path))


def _require_private(folder: Path, data: Path) -> None:
    """A folder that is not there yet is fine: nobody else can make it."""
    try:
        status = folder.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise BadInput(
            f"The folder {str(folder)!r} for the sockets of {str(data)!r} can be used by others. Remove it, or give "
            "MEMSHARE_DATA a shorter path."
        )
