"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from broker.errors import BadInput


@contextmanager
def new_file(path: Path) -> Iterator[TextIO]:
    """A text file that appears under its name when the block ends well, in place of one that was there."""
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
        aside.unlink(missing_ok=True)
