"""Prompts and answers are private: what lies in a data folder is for its owner alone."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path

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
