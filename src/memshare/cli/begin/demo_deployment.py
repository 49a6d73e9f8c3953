"""A deployment for a demo, in a folder of its own."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from memshare.operate.supervisor import supervised
from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings, load_settings


@contextlib.contextmanager
def running(folder: Path, agents_dir: Path | None = None, exports: Path | None = None) -> Iterator[Settings]:
    """A deployment for as long as the block runs; without `exports` the encoder is where other commands have it."""
    known = load_settings()
    places = {"redis_url": None, "qdrant_url": None, "memory_url": None, "agents_dir": agents_dir}
    exported = known.exports or exports or known.exports_dir
    settings = known.model_copy(update=places | {"data": folder, "exports": exported})
    with supervised(settings):
        yield settings


@contextlib.contextmanager
def folder_for(data: Path | None) -> Iterator[Path]:
    """A new folder that is kept, or a temporary one."""
    if data is not None:
        yield new_folder(data)
        return
    with tempfile.TemporaryDirectory(prefix="memshare-demo-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def new_folder(data: Path) -> Path:
    """The folder as it is written out; raises `BadInput` where there is a pool in it."""
    folder = data.expanduser().absolute()
    if (folder / "pool").exists():
        raise BadInput(f"There is a pool in {str(folder)!r}, and the demo begins with an empty one: name a new folder.")
    return folder
