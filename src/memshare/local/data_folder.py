"""The data folder of one machine, which one `memshare up` or command holds at a time."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from memshare.broker.errors import BadInput, MemshareError
from memshare.broker.private_files import keep_private


@contextlib.contextmanager
def hold_folder(data: Path) -> Iterator[None]:
    """Hold a data folder for this process; raises when it cannot be written, or another holds it."""
    try:
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        keep_private(data)
        lock = (data / "up.lock").open("a+")
    except OSError as error:
        raise BadInput(f"The data folder {str(data)!r} cannot be written: {error.strerror}.") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.seek(0)
            raise MemshareError(
                f"memshare runs already on {str(data)!r} (process {lock.read().strip() or 'unknown'}). "
                "Use it as it is, end it with Ctrl-C, or give another folder with --data."
            ) from error
        lock.seek(0)
        lock.truncate()
        lock.write(str(os.getpid()))
        lock.flush()
        yield
