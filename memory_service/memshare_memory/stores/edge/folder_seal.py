"""The seal of a closed pool: what each file of the engine was when the folder was closed, to tell damage at opening."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from memshare_broker.wire.messages import Message
from memshare_memory.stores.edge.edge_folder import write_whole
from memshare_memory.stores.edge.engine_damage import damaged
from memshare_memory.stores.edge.tally import Sum

_SEAL = "seal.json"
_BLOCK = 64 * 2**10
_ZEROS = bytes(_BLOCK)
_NAMED = 3  # files that an error names


class Seal(Message):
    """Written when a pool is closed, and gone while it is open; so without it, the process was killed."""

    memories: int
    fingerprint: str
    files: dict[str, str]
    """Path in the engine's folder → digest of the file."""


def seal(folder: Path, engine: Path, sum_: Sum) -> None:
    """Note what every file is, after the engine has been closed."""
    write_whole(folder / _SEAL, Seal(memories=sum_.memories, fingerprint=f"{sum_.mark:032x}", files=_digests(engine)))


def unsealed(folder: Path, engine: Path) -> Sum | None:
    """Check the files of a closed pool; returns what it holds, or None where it was not closed.

    Raises `Damaged` where a file is not what it was. The seal stays until `remove`.
    """
    try:
        found = Seal.model_validate_json((folder / _SEAL).read_bytes())
        sum_ = Sum(found.memories, int(found.fingerprint, 16))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, ValidationError) as error:
        raise damaged(folder, f"its {_SEAL} cannot be read") from error
    there = _digests(engine)
    wrong = [
        f"{name} is {'missing' if name not in there else 'new' if name not in found.files else 'changed'}"
        for name in sorted({*there, *found.files})
        if there.get(name) != found.files.get(name)
    ]
    if wrong:
        more = f" and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
        raise damaged(
            folder, f"of its {len(found.files)} files, since it was closed, {'; '.join(wrong[:_NAMED])}{more}"
        )
    return sum_


def memories_of(folder: Path) -> int | None:
    """How many memories a closed pool has; None where nobody knows, such as of a damaged one."""
    try:
        return Seal.model_validate_json((folder / _SEAL).read_bytes()).memories
    except (OSError, ValidationError):
        return None


def remove(folder: Path) -> None:
    """Take the seal away, before the engine is opened."""
    (folder / _SEAL).unlink(missing_ok=True)


def _digests(engine: Path) -> dict[str, str]:
    files = sorted(path for path in engine.rglob("*") if path.is_file())
    return {str(path.relative_to(engine)): _digest(path) for path in files}


def _digest(path: Path) -> str:
    """A digest of the size and of what is not zero: the engine's files have large holes, which copies may fill."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        digest = hashlib.blake2b(size.to_bytes(8, "big"), digest_size=16)
        for place, block in _blocks(file.fileno(), size):
            digest.update(place.to_bytes(8, "big"))
            digest.update(block)
    return digest.hexdigest()


def _blocks(file: int, size: int) -> Iterator[tuple[int, bytes]]:
    """The blocks with anything in them, and where they begin; holes are not read."""
    place = 0
    while place < size:
        try:
            begin = os.lseek(file, place, os.SEEK_DATA)
            end = os.lseek(file, begin, os.SEEK_HOLE)
        except OSError:  # nothing but a hole is left
            return
        place = max(place, begin - begin % _BLOCK)
        while place < end:
            block = os.pread(file, _BLOCK, place)
            if block != _ZEROS[: len(block)]:  # most are: to compare takes a hundredth of what it takes to strip them
                yield place, block
            place += _BLOCK
