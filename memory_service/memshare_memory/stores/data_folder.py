"""The data folder of an embedded pool: which pool it has, and in which of its folders that lies now."""

from __future__ import annotations

import shutil
import time
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from pydantic import ValidationError

from memshare_broker.errors import BadInput, MemshareError
from memshare_broker.wire.messages import Message
from memshare_memory.stores.edge_folder import layout_of, lock, unwritable, write_whole
from memshare_memory.stores.edge_integrity import memories_of
from memshare_memory.stores.store import Layout, place_of

_FIRST, _POINTER, _ID = "pool", "pool.json", "pool-id.json"


class _Pointer(Message):
    folder: str


class _Identity(Message):
    pool: str


def in_use(data: Path) -> Path:
    """The pool's folder in a data folder; several stand there once the pool has been re-encoded."""
    try:
        named = data / _Pointer.model_validate_json((data / _POINTER).read_bytes()).folder
    except FileNotFoundError:
        return data / _FIRST
    except (OSError, ValidationError) as error:
        raise BadInput(f"{str(data / _POINTER)!r} does not say which pool is in use: {error}.") from error
    if layout_of(named) is None:  # what is not there would be made, and be empty
        raise BadInput(
            f"{str(data / _POINTER)!r} says that the pool is in {named.name!r}, and there is none. Put one of the two"
            " back from a copy, or go back to a backup with `memshare restore FILE --replace`."
        )
    return named


def has_pool(data: Path) -> bool:
    """True if there is a pool, with or without memories."""
    return layout_of(in_use(data)) is not None


def pool_id(data: Path) -> str:
    """The id of the pool in a data folder, whatever it is re-encoded to; made at the first call."""
    path = data / _ID
    try:
        if not path.exists():
            data.mkdir(parents=True, exist_ok=True)
            write_whole(path, _Identity(pool=uuid4().hex))
        return _Identity.model_validate_json(path.read_bytes()).pool
    except OSError as error:
        raise unwritable(data, error) from error
    except ValidationError as error:
        raise BadInput(f"{str(path)!r} does not say which pool this is: {error}. Remove it.") from error


def folder_for(data: Path, layout: Layout) -> Path:
    """The folder with vectors of this layout, or the one that it would have."""
    first = data / _FIRST
    return first if layout_of(first) in (None, layout) else data / f"{_FIRST}-{place_of(layout)}"


def put_in_use(data: Path, layout: Layout) -> None:
    """Let `in_use` find the folder for a layout from now on."""
    write_whole(data / _POINTER, _Pointer(folder=folder_for(data, layout).name))


def is_empty(data: Path) -> bool:
    """True if a data folder has no pool, or a pool that was closed without a memory in it."""
    return all(memories_of(folder) == 0 for folder in _pools(data))


def require_closed(data: Path) -> None:
    """Raise `Unreachable` where a process has a pool of this data folder open."""
    for folder in _pools(data):
        lock(folder).close()


def fresh_folder(data: Path) -> Path:
    """A folder beside the pool for what `replace_pool` is to put in its place."""
    return data / time.strftime(f"{_FIRST}.new-%Y%m%d-%H%M%S")


def remove_left(data: Path) -> None:
    """Remove the fresh folders that were left when the process that made them was killed."""
    for left in data.glob(f"{_FIRST}.new-*"):
        with suppress(MemshareError):  # one that is written still
            lock(left).close()
            shutil.rmtree(left, ignore_errors=True)


def aside_folder(data: Path) -> Path:
    """A folder for what a restore puts another in the place of."""
    return data / time.strftime("before-restore-%Y%m%d-%H%M%S")


def replace_pool(data: Path, fresh: Path | None, aside: Path) -> None:
    """Put a pool in the place of what is there, which is kept in the folder `aside`, made where there was any.

    Without a fresh one the data folder has no pool then.
    """
    for path in [*_pools(data), *(path for path in [data / _POINTER] if path.exists())]:
        aside.mkdir(exist_ok=True)
        path.rename(aside / path.name)
    if fresh is not None:
        fresh.rename(data / _FIRST)


def _pools(data: Path) -> list[Path]:
    """Every folder with a pool, in use or beside that."""
    return [path for path in sorted(data.glob(f"{_FIRST}*")) if path.is_dir() and "." not in path.name]
