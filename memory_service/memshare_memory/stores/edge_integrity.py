"""Integrity of an embedded pool: its seal when it is closed, its tally and counts while it is open, errors of damage.

The tally is a fingerprint of all memories. It lies in a file beside the engine, in memory that is shared with the file,
so that a write costs a microsecond and kill -9 loses none. Before a write to the engine it says what will be, and after
it what is: one of the two is true whenever the process ends.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import struct
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from memshare_broker.errors import TryAgain
from memshare_broker.wire.messages import Message
from memshare_memory.stores.edge_folder import write_whole
from memshare_memory.stores.store import CountKey, Damaged, Where

_WAYS_BACK = (
    "`memshare restore FILE --replace` goes back to a backup; `memshare memories check --repair` saves what can still"
    " be read, and keeps the damaged files. Nothing has been changed."
)


def damaged(folder: Path, found: str) -> Damaged:
    """The error for a pool that must not be opened."""
    return Damaged(f"The pool in {str(folder)!r} is damaged: {found}. {_WAYS_BACK}")


def is_panic(error: BaseException) -> bool:
    """True if the engine has panicked, which reaches Python as an error that is no `Exception`."""
    return type(error).__name__ == "PanicException"


@contextmanager
def no_panic(folder: Path) -> Iterator[None]:
    """Turn a panic of the open engine into `TryAgain`: what was to be done is kept until the pool is mended."""
    try:
        yield
    except BaseException as error:
        if not is_panic(error):
            raise
        raise TryAgain(
            f"The engine of the pool in {str(folder)!r} failed: {error}. Its files may be damaged. {_WAYS_BACK}",
            reason="store",
        ) from None


_SEAL = "seal.json"
_BLOCK = 64 * 2**10
_ZEROS = bytes(_BLOCK)
_NAMED = 3  # files that an error names


class Seal(Message):
    """Written when a pool is closed, and gone while it is open; so without it, the process was killed."""

    memories: int
    fingerprint: str
    files: dict[str, str]  # path in the engine's folder → digest of the file


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
            for digest in digests:
                memories, mark = memories + step, mark ^ digest
        return Sum(memories, mark)


class Left(NamedTuple):
    """State after a process was killed: the pool matches one of `sums`; empty means unknown. After another start of
    the machine the last writes may be missing."""

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
    """State that the last process left when it was killed; None if there is no tally. Raises `Damaged`."""
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
    """Values that stand at a place; None if their checksum does not match."""
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
