"""What is counted of an open pool: memories by pool and status, and the tally, a fingerprint of them all.

The tally lies in a file beside the engine, in memory that is shared with the file, so that a write costs a microsecond
and kill -9 loses none. Before a write to the engine it says what will be, and after it what is: one of the two is true
whenever the process ends.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from memshare_memory.stores.edge.engine_damage import damaged
from memshare_memory.stores.store import CountKey, Where

_FILE = "tally.bin"
_SIZE = 4096
_HEAD = struct.Struct("<8s36s")  # format, and the start of the machine in which it was made
_SLOT = struct.Struct("<?Q16s")  # whether it is known, memories, fingerprint
_CHECK = struct.Struct("<I")  # checksum of what stands before it
_FORMAT = b"memtally"
_FIRST = _HEAD.size + _CHECK.size
_PLACES = (_FIRST, _FIRST + _SLOT.size + _CHECK.size)
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Sum(NamedTuple):
    """How many memories there are, and the exclusive or of all their digests: in any order the same."""

    memories: int = 0
    mark: int = 0

    def changed(self, removed: Iterable[int], added: Iterable[int]) -> Sum:
        """The sum after digests of some memories went and others came."""
        memories, mark = self
        for step, digests in ((-1, removed), (1, added)):
            for one in digests:
                memories, mark = memories + step, mark ^ one
        return Sum(memories, mark)


class Left(NamedTuple):
    """What a process that was killed has left: what the pool holds is one of `sums`, of which there are none where it
    did not know. After another start of the machine the last writes may be missing."""

    sums: tuple[Sum, ...]
    same_start: bool


def digest(memory: object, text: object) -> int:
    """128 bits of a memory: its id, and the whole of it as text."""
    return int.from_bytes(blake2b(f"{memory} {text}".encode(errors="surrogatepass"), digest_size=16).digest(), "big")


class Tally:
    """The tally of a folder that this process has open. Not safe for threads by itself."""

    def __init__(self, folder: Path, now: Sum) -> None:
        self._path = folder / _FILE
        self.now: Sum | None = now
        head = _with_checksum(_HEAD.pack(_FORMAT, _start_of_machine()))
        aside = self._path.with_suffix(".aside")
        aside.write_bytes((head + 2 * _slot(now)).ljust(_SIZE, b"\0"))
        with aside.open("r+b") as file:
            os.fsync(file.fileno())
            self._shared = mmap.mmap(file.fileno(), _SIZE)
        aside.replace(self._path)

    def will_be(self, after: Sum) -> None:
        """Say what the pool holds after the write that comes now."""
        self._note(_PLACES[1], after)

    def is_now(self, now: Sum | None) -> None:
        """Say what the pool holds; None where a write failed, and nobody knows how far it went."""
        self.now = now
        self._note(_PLACES[0], now)
        if now is None:
            self._note(_PLACES[1], None)

    def remove(self) -> None:
        """Take the file away, once the pool is sealed."""
        self._shared.close()
        self._path.unlink(missing_ok=True)

    def _note(self, place: int, sum_: Sum | None) -> None:
        slot = _slot(sum_)
        self._shared[place : place + len(slot)] = slot


def left_behind(folder: Path) -> Left | None:
    """What the last process left where it was killed; None where there is no tally. Raises `Damaged`."""
    try:
        found = (folder / _FILE).read_bytes()
    except FileNotFoundError:
        return None
    head = _checked(_HEAD, found, 0)
    slots = [slot for place in _PLACES if (slot := _checked(_SLOT, found, place))]  # one may have been half written
    if head is None or head[0] != _FORMAT or not slots:
        raise damaged(folder, f"its {_FILE} cannot be read")
    known = all(slot[0] for slot in slots)
    sums = tuple(Sum(memories, int.from_bytes(mark, "big")) for _, memories, mark in slots) if known else ()
    return Left(sums, same_start=head[1] == _start_of_machine())


def _checked(form: struct.Struct, found: bytes, place: int) -> tuple[Any, ...] | None:
    """What stands at a place; None where its checksum does not fit."""
    end = place + form.size
    if len(found) != _SIZE or _CHECK.unpack_from(found, end)[0] != zlib.crc32(found[place:end]):
        return None
    return form.unpack_from(found, place)


def _slot(sum_: Sum | None) -> bytes:
    memories, mark = sum_ or Sum()
    return _with_checksum(_SLOT.pack(sum_ is not None, memories, mark.to_bytes(16, "big")))


def _with_checksum(packed: bytes) -> bytes:
    return packed + _CHECK.pack(zlib.crc32(packed))


def _start_of_machine() -> bytes:
    """An id that changes when the machine is started again, of 36 bytes; zeros where there is none."""
    text = _BOOT_ID.read_bytes().strip() if _BOOT_ID.exists() else b""
    return text[:36].ljust(36, b"0")


Kind = tuple[str, str]
"""The pool and the status of a memory."""


class CountCache:
    """How many memories of each pool and status there are: the engine takes longer to count the more there are.

    Not safe for threads by itself.
    """

    def __init__(self, counted: Mapping[Kind, int]) -> None:
        self._counts = Counter(counted)

    def change(self, removed: Iterable[Kind], added: Iterable[Kind]) -> None:
        """Take note of memories that were removed or replaced, and of those that stand there now."""
        self._counts.subtract(removed)
        self._counts.update(added)
        self._counts = +self._counts

    def count(self, where: Where, by: CountKey = "pool") -> dict[str, int] | None:
        """Memories by pool, or by status; None for a condition on anything beside the two."""
        if replace(where, pool=None, status=None) != Where():
            return None
        statuses = (
            None if where.status is None else {where.status} if isinstance(where.status, str) else {*where.status}
        )
        found: Counter[str] = Counter()
        for (pool, status), count in self._counts.items():
            if where.pool in (None, pool) and (statuses is None or status in statuses):
                found[pool if by == "pool" else status] += count
        return dict(found)
