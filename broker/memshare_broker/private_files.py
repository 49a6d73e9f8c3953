"""Files and sockets of a data folder are for its owner alone, as prompts and answers are private."""

from __future__ import annotations

import hashlib
import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from memshare_broker.errors import BadInput

log = logging.getLogger(__name__)

PRIVATE = 0o077
"""As a umask: nothing for the group, and nothing for others."""


def keep_private(data: Path) -> int:
    """Let this process, and those that it starts, write for their owner alone, and take from others what they may use
    of a data folder. Returns how many files and folders that were.

    What belongs to another user, such as a volume that was mounted there, is left as it is.
    """
    os.umask(PRIVATE)
    if data == Path.home():
        log.warning("MEMSHARE_DATA is your home folder: what lies there is left as it is. Give it a folder of its own.")
        return 0
    opened = [place for place in _places(data) if _mend(place)]
    if opened:
        log.warning(
            "Files and folders of %s could be read by other users of this machine (%d); now they cannot.",
            data,
            len(opened),
        )
    return len(opened)


def _places(data: Path) -> Iterator[Path]:
    if data.is_dir():
        yield data
        for folder, folders, files in os.walk(data):
            yield from (Path(folder, name) for name in (*folders, *files))


def _mend(place: Path) -> bool:
    try:
        status = place.lstat()
        if stat.S_ISLNK(status.st_mode) or status.st_uid != os.getuid() or not status.st_mode & PRIVATE:
            return False
        place.chmod(stat.S_IMODE(status.st_mode) & ~PRIVATE)
    except FileNotFoundError:  # another process works in the folder
        return False
    except OSError as error:
        log.warning("%s may be read by other users, and that cannot be changed: %s", place, error.strerror)
        return False
    return True


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
        for place in (folder.parent, folder):
            try:
                place.mkdir(exist_ok=True, mode=0o700)
            except OSError as error:
                raise BadInput(
                    f"The folder {str(place)!r} for the sockets of {str(data)!r} cannot be made ({error.strerror}). "
                    "Give MEMSHARE_DATA a shorter path."
                ) from error
            _require_private(place, data)
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
