"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from memshare.broker.errors import BadInput


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[TextIO]:
    """A text file that appears under its name when the block ends well, in place of one that was there."""
    if not path.name:
        raise BadInput(f"{str(path)!r} cannot be written: it is a folder.")
    aside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with aside.open("w", encoding="utf-8") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    except OSError as error:
        raise BadInput(f"{str(path)!r} cannot be written: {error.strerror}.") from error
    finally:
        with contextlib.suppress(OSError):  # where it could not be made, there is nothing to remove
            aside.unlink()
