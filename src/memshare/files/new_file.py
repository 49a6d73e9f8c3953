"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TextIO

from memshare_broker.errors import BadInput

FOR_ALL, FOR_ITS_OWNER = 0o666, 0o600  # who may read and write it, as far as the umask lets them


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[TextIO]:
    """A text file that appears under its name when the block ends well, in place of one that was there."""
    with new_binary_file(path, FOR_ALL) as raw:
        file = io.TextIOWrapper(raw, encoding="utf-8")
        yield file
        file.detach()


@contextlib.contextmanager
def new_binary_file(path: Path, mode: int) -> Iterator[BinaryIO]:
    """The same for bytes. Where the name is a link, what it leads to is replaced."""
    real = Path(os.path.realpath(path))
    if not path.name or not real.name:
        raise BadInput(f"{str(path)!r} cannot be written: it is a folder.")
    aside = real.with_name(f".{real.name}.{os.getpid()}.part")
    try:
        if str(path) == "-" or (path.exists() and not path.is_file() and not path.is_dir()):
            raise BadInput(f"{str(path)!r} cannot be written: it is no file to be replaced. Give the name of one.")
        with os.fdopen(os.open(aside, os.O_RDWR | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        aside.replace(real)
    except OSError as error:
        raise BadInput(f"{str(path)!r} cannot be written: {error.strerror or error}.") from error
    finally:
        with contextlib.suppress(OSError):  # where it could not be made, there is nothing to remove
            aside.unlink()
