"""The folder of an embedded pool: what it was made for, who has it open, whether there is room to write."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from filelock import lock_descriptor
from pydantic import ValidationError

from memshare_broker.errors import BadInput, TryAgain, Unreachable
from memshare_broker.wire.messages import Message
from memshare_memory.stores.store import Layout, StoreMetadata, require_same

_METADATA = "memshare.json"
_OWNER = "owner.json"
ENGINE, FRESH, OLD = "engine", "engine.fresh", "engine.old"
"""Folders in a pool's: of the engine's files, of new ones while they are written, and of old ones until they go."""
_LOCK = "lock"

# The engine maps sparse files, and a write to one on a full disk kills the process (SIGBUS) without an
# error. It lays out up to three log segments of 32 MiB ahead, so there must be room for those and for data.
_SPARE = 256 * 2**20


class Owner(Message):
    """The process that has a folder open."""

    pid: int
    owner: str
    since: str


def layout_of(folder: Path) -> Layout | None:
    """Layout that a pool's folder was made for; None if there is no pool."""
    return _read_metadata(folder).layout if (folder / _METADATA).exists() else None


def prepare(folder: Path, layout: Layout) -> Path:
    """Make the folder or check that it was made for this layout; returns the engine's folder in it."""
    try:
        (folder / ENGINE).mkdir(parents=True, exist_ok=True)
        require_room(folder)
        if not (folder / _METADATA).exists():
            write_whole(folder / _METADATA, StoreMetadata.of(layout))
        found = _read_metadata(folder)
    except OSError as error:
        raise unwritable(folder, error) from error
    except TryAgain as error:
        raise BadInput(str(error)) from error
    require_same(
        found,
        StoreMetadata.of(layout),
        f"The pool in {str(folder)!r}",
        "start with another MEMSHARE_DATA folder and another Redis",
    )
    return folder / ENGINE


def end_rewrite(folder: Path) -> None:
    """End what a killed process began when it rewrote the engine's files; who calls this has the folder's lock."""
    fresh, old = folder / FRESH, folder / OLD
    if old.exists() and fresh.exists():
        fresh.rename(folder / ENGINE)
    for left in (fresh, old):
        shutil.rmtree(left, ignore_errors=True)


def lock(folder: Path) -> BinaryIO:
    """Keep other processes from opening the pool until the file is closed; raises `Unreachable` where one has it."""
    try:
        file = (folder / _LOCK).open("ab")
    except OSError as error:
        raise unwritable(folder, error) from error
    if not lock_descriptor(file.fileno(), blocking=False):
        file.close()
        raise taken(folder)
    return file


def claim(folder: Path, owner: str) -> None:
    """Write down who has the folder open, after the engine has locked it."""
    since = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    try:
        write_whole(folder / _OWNER, Owner(pid=os.getpid(), owner=owner, since=since))
    except OSError as error:
        raise unwritable(folder, error) from error


def release(folder: Path) -> None:
    """Take the name away again, before the engine unlocks the folder."""
    (folder / _OWNER).unlink(missing_ok=True)


def taken(folder: Path) -> Unreachable:
    """The error for a folder that the engine found locked."""
    try:
        found = Owner.model_validate_json((folder / _OWNER).read_bytes())
        who = f"by {found.owner} (process {found.pid}, since {found.since})"
    except (OSError, ValidationError):
        who = "by a process that has not yet said who it is"
    return Unreachable(
        f"The pool in {str(folder)!r} is open already, {who}, and only one process can have it open."
        " Stop that one, or set MEMSHARE_QDRANT_URL: a Qdrant server is for any number of processes."
    )


def unwritable(folder: Path, reason: object) -> BadInput:
    """The error for a folder in which a pool can be neither made nor opened."""
    return BadInput(
        f"The pool's folder {str(folder)!r} cannot be used: {reason}."
        " Give MEMSHARE_DATA a folder that this user can write in."
    )


def require_room(folder: Path) -> None:
    """Raise `TryAgain` where the disk is too full to write safely."""
    free = shutil.disk_usage(folder).free
    if free < _SPARE:
        raise TryAgain(
            f"The disk of {str(folder)!r} is full: {free // 2**20} MiB are free, and the pool is written"
            f" to only while there are {_SPARE // 2**20}. Make room; nothing is lost.",
            reason="store",
        )


def _read_metadata(folder: Path) -> StoreMetadata:
    try:
        return StoreMetadata.model_validate_json((folder / _METADATA).read_bytes())
    except ValidationError as error:
        raise BadInput(
            f"{str(folder / _METADATA)!r} does not say what the pool was made for: {error.errors()[0]['msg']}."
            " Put it back from a copy, or start with another MEMSHARE_DATA folder and another Redis."
        ) from error


def write_whole(path: Path, content: Message) -> None:
    """Write a file in one step, so that after a loss of power it is the old one or the new one, and whole."""
    aside = path.with_suffix(f".{os.getpid()}.aside")
    with aside.open("w", encoding="utf-8") as file:
        file.write(content.model_dump_json(indent=1) + "\n")
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # the rename is in the folder
    finally:
        os.close(folder)
