"""One consolidation at a time: a lock that ends with its process, however that ends."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memshare.broker.errors import BadInput, MemshareError

LEFT_BEHIND = ("fresh-*", ".fresh-*")


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Be the only one that makes encoders in this folder; what one that was killed has left there is removed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / "lock").open("a+")
    except OSError as error:
        raise BadInput(f"The folder of encoders {str(folder)!r} cannot be written: {error.strerror}.") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise MemshareError(f"Another consolidation runs in {str(folder)!r}. Wait until it is done.") from error
        for pattern in LEFT_BEHIND:
            for left in folder.glob(pattern):
                shutil.rmtree(left)
        yield
