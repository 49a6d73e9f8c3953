"""A small disk that can be filled up: a tmpfs, which takes the right to mount."""

from __future__ import annotations

import contextlib
import errno
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

BLOCK = bytes(2**20)


class Disk:
    """A mounted folder."""

    def __init__(self, folder: Path) -> None:
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        """Leave no byte free, and what is freed in the meantime neither."""
        with contextlib.suppress(OSError), self._ballast.open("ab", buffering=0) as file:
            for block in (BLOCK, BLOCK[:512]):
                with contextlib.suppress(OSError):
                    while file.write(block) == len(block):
                        continue

    def is_full(self) -> bool:
        return shutil.disk_usage(self._ballast.parent).free < len(BLOCK)

    def free(self) -> None:
        self._ballast.unlink()


@contextlib.contextmanager
def disk(folder: Path, megabytes: int) -> Iterator[Disk]:
    """A disk of this size in a folder, while the block runs. Raises `OSError` where none can be mounted."""
    folder.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(errno.EPERM, done.stderr.strip(), str(folder))
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def no_disk() -> str | None:
    """Why there cannot be such a disk here; None where there can."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            with disk(Path(folder), 1):
                return None
        except OSError as error:
            return f"no tmpfs can be mounted here ({error.strerror})"
